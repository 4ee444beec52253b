// SPDX-License-Identifier: MIT
// A peak passes: does its memory go back to the system?
//
// `peak THREADS MODE`: every thread allocates 100,000 objects of 1500 bytes, writes them and, when
// all hold theirs, frees them. Then for 4 s every thread works or waits. In MiB, absolute:
// "peak_mib" resident while all objects were held, "later_mib" after the 4 s, threads still there.
//   light  a malloc and free of 64 and of 1500 bytes, then 1 ms of sleep, over and over
//   pairs  a malloc and free of 1500 bytes, over and over, without sleep
//   idle   blocked, no calls at all
// With one thread it is the main thread, and the process has no other.
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <latch>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kObjects = 100'000;
constexpr std::size_t kObjectBytes = 1500;
constexpr auto kAfterwards = std::chrono::seconds(4);

enum class Mode { kLight, kPairs, kIdle };

void pair(std::size_t size) {
  void* object = std::malloc(size);
  workload::keep(object);
  std::free(object);
}

void allocate_all(std::vector<void*>& objects) {
  for (void*& object : objects) {
    object = std::malloc(kObjectBytes);
    std::memset(object, 1, kObjectBytes);
  }
}

void free_all(std::vector<void*>& objects) {
  for (void* object : objects) std::free(object);
}

void work(Mode mode, Clock::time_point end) {
  while (mode == Mode::kLight && Clock::now() < end) {
    pair(64);
    pair(kObjectBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  while (mode == Mode::kPairs && Clock::now() < end) {
    for (int i = 0; i < 1000; ++i) pair(kObjectBytes);
  }
}

struct Resident {
  double peak, later;
};

Resident measure_main_thread(Mode mode) {
  Resident resident;
  std::vector<void*> objects(kObjects);
  allocate_all(objects);
  resident.peak = resident_bytes();
  free_all(objects);
  Clock::time_point end = Clock::now() + kAfterwards;
  work(mode, end);
  std::this_thread::sleep_until(end);
  resident.later = resident_bytes();
  return resident;
}

// Holds threads back until it is opened.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

Resident measure_threads(std::size_t threads, Mode mode) {
  std::latch held(static_cast<std::ptrdiff_t>(threads));
  std::latch freed(static_cast<std::ptrdiff_t>(threads));
  Gate release, leave;
  std::vector<std::vector<void*>> objects(threads, std::vector<void*>(kObjects));
  std::vector<std::thread> running;
  for (std::vector<void*>& own : objects) {
    running.emplace_back([&, mode] {
      allocate_all(own);
      held.count_down();
      release.wait();
      free_all(own);
      freed.count_down();
      work(mode, Clock::now() + kAfterwards);
      leave.wait();
    });
  }

  Resident resident;
  held.wait();
  resident.peak = resident_bytes();
  release.open();
  freed.wait();
  std::this_thread::sleep_for(kAfterwards);
  resident.later = resident_bytes();
  leave.open();
  for (std::thread& thread : running) thread.join();
  return resident;
}

Mode parse_mode(std::string_view text, const char* usage) {
  if (text == "light") return Mode::kLight;
  if (text == "pairs") return Mode::kPairs;
  if (text == "idle") return Mode::kIdle;
  workload::usage(usage);
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "peak THREADS light|pairs|idle";
  if (argc != 3) workload::usage(usage);
  std::size_t threads = workload::argument(argc, argv, 1, 1, usage);
  Mode mode = parse_mode(argv[2], usage);
  Resident resident = threads == 1 ? measure_main_thread(mode) : measure_threads(threads, mode);
  workload::print_json(argc, argv,
                       {{"peak_mib", resident.peak / workload::kMebibyte},
                        {"later_mib", resident.later / workload::kMebibyte}});
}
