// SPDX-License-Identifier: MIT
// A peak has passed and its memory goes back: who pays for that, and how much at a time?
//
// `after PERIOD_MS|flat [SECONDS]`: the program's one thread allocates 300 MiB, half of it in
// objects of 64 bytes and half in such of 1500, writes and frees them. Then for 5 s it works in
// rounds: a malloc of 64 bytes, 32 times, and as many frees; one round every PERIOD_MS, or without
// a pause. Each call is timed, in the thread's own CPU time, so that nobody else's work lengthens
// it:
//   call_us    the longest malloc or free
//   round_us   the longest round, its calls together
//   back_s     when less than a tenth of the peak's memory was resident; SECONDS: never
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPeakBytes = std::size_t{300} << 20;
constexpr std::size_t kSizes[] = {64, 1500};

double thread_us() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns how many bytes were resident.
double peak() {
  std::vector<void*> objects;
  objects.reserve(kPeakBytes / 2 / kSizes[0] * 2);
  for (const std::size_t size : kSizes) {
    for (std::size_t bytes = 0; bytes < kPeakBytes / 2; bytes += size) {
      char* const object = static_cast<char*>(std::malloc(size));
      object[0] = object[size - 1] = 1;
      objects.push_back(object);
    }
  }
  const double most = resident_bytes();
  for (void* const object : objects) std::free(object);
  return most;
}

struct Longest {
  double call = 0, round = 0;
};

void round(Longest& longest) {
  void* objects[32];
  double before = thread_us(), all = 0;
  const auto note = [&] {
    const double now = thread_us();
    longest.call = std::max(longest.call, now - before);
    all += now - before;
    before = now;
  };
  for (void*& object : objects) {
    object = std::malloc(kSizes[0]);
    workload::keep(object);
    note();
  }
  for (void* const object : objects) {
    std::free(object);
    note();
  }
  longest.round = std::max(longest.round, all);
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "after PERIOD_MS|flat [SECONDS]";
  if (argc < 2 || argc > 3) workload::usage(usage);
  const bool flat = std::string_view(argv[1]) == "flat";
  const std::chrono::milliseconds period(flat ? 0 : workload::argument(argc, argv, 1, 1, usage));
  const auto seconds = static_cast<double>(workload::argument(argc, argv, 2, 5, usage));
  const double most = peak();
  const Clock::time_point start = Clock::now();
  Longest longest;
  double back = seconds, looked = 0;
  for (Clock::time_point next = start; seconds_since(start) < seconds;) {
    round(longest);
    if (const double now = seconds_since(start); now - looked > 0.02) {
      looked = now;
      if (back == seconds && resident_bytes() < 0.1 * most) back = now;
    }
    if (!flat) std::this_thread::sleep_until(next += period);
  }
  workload::print_json(argc, argv,
                       {{"call_us", longest.call}, {"round_us", longest.round}, {"back_s", back}});
}
