// SPDX-License-Identifier: MIT
// W4, memory: what the objects of many threads take in RAM, and what remains of it afterwards.
//
// `w4_memory [THREADS [COUNT]]`: every thread holds COUNT objects of 64 bytes, all written, at a
// common moment; then all are freed; the threads stay, blocked, for 3 s. In decimal MB:
//   peak_mb, freed_mb, later_mb   resident at the common moment, right after the frees, 3 s later;
//                                 less what was resident before the first object was allocated,
//                                 when threads and (written) pointer arrays were there already
//   *_rss_mb                      the same without the subtraction
#include <chrono>
#include <cstring>
#include <latch>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kObjectBytes = 64;

struct Stages {
  explicit Stages(std::ptrdiff_t threads) : ready(threads), held(threads), freed(threads) {}
  std::latch ready, start{1}, held, release{1}, freed, end{1};
};

void hold(Stages& stages, std::vector<void*>& objects) {
  stages.ready.count_down();
  stages.start.wait();
  for (void*& object : objects) {
    object = std::malloc(kObjectBytes);
    std::memset(object, 1, kObjectBytes);
  }
  stages.held.count_down();
  stages.release.wait();
  for (void* object : objects) std::free(object);
  stages.freed.count_down();
  stages.end.wait();
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w4_memory [THREADS [COUNT]]";
  std::size_t threads = workload::argument(argc, argv, 1, 16, usage);
  std::size_t count = workload::argument(argc, argv, 2, 100'000, usage);

  Stages stages(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::vector<void*>> objects(threads, std::vector<void*>(count));
  std::vector<std::thread> running;
  for (std::vector<void*>& own : objects)
    running.emplace_back([&stages, &own] { hold(stages, own); });

  stages.ready.wait();
  double before = resident_bytes();
  stages.start.count_down();
  stages.held.wait();
  double peak = resident_bytes();
  stages.release.count_down();
  stages.freed.wait();
  double freed = resident_bytes();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  double later = resident_bytes();
  stages.end.count_down();
  for (std::thread& thread : running) thread.join();

  workload::print_json(argc, argv,
                       {{"peak_mb", (peak - before) / workload::kMegabyte},
                        {"freed_mb", (freed - before) / workload::kMegabyte},
                        {"later_mb", (later - before) / workload::kMegabyte},
                        {"peak_rss_mb", peak / workload::kMegabyte},
                        {"freed_rss_mb", freed / workload::kMegabyte},
                        {"later_rss_mb", later / workload::kMegabyte}});
}
