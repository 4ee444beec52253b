// SPDX-License-Identifier: MIT
// W6 cache-scratch and cache-thrash: does the allocator put objects of different threads into one
// cache line? After Berger's programs for Hoard.
//
// `w6_scratch [scratch|thrash [THREADS [SIZE [ROUNDS [WRITES]]]]]`: every thread, ROUNDS times,
// allocates an object of SIZE bytes, increments all its bytes WRITES times and frees it; ROUNDS are
// divided among the threads, so that without sharing the time falls with the threads that run at
// once. "ms" is the whole time.
//   scratch  before that, the main thread allocates an object for each thread, all in a row, and
//            every thread frees the one it was given: an allocator that hands it the same memory
//            again shares lines passively
//   thrash   there are no such objects: an allocator that serves threads from one line shares it
//            actively
#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

struct Work {
  std::size_t size, rounds, writes;
};

// Returns how many bytes were not what the writes must have made of them.
std::size_t write_objects(const Work& work) {
  std::size_t wrong = 0;
  for (std::size_t round = 0; round < work.rounds; ++round) {
    char* memory = static_cast<char*>(std::malloc(work.size));
    volatile unsigned char* object = reinterpret_cast<volatile unsigned char*>(memory);
    for (std::size_t i = 0; i < work.size; ++i) object[i] = static_cast<unsigned char>(round);
    for (std::size_t write = 0; write < work.writes; ++write)
      for (std::size_t i = 0; i < work.size; ++i)
        object[i] = static_cast<unsigned char>(object[i] + 1);
    for (std::size_t i = 0; i < work.size; ++i)
      wrong += object[i] != static_cast<unsigned char>(round + work.writes);
    std::free(memory);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_scratch [scratch|thrash [THREADS [SIZE [ROUNDS [WRITES]]]]]";
  std::string_view mode = argc > 1 ? argv[1] : "scratch";
  if (mode != "scratch" && mode != "thrash") workload::usage(usage);
  std::size_t threads = workload::argument(argc, argv, 2, 2, usage);
  std::size_t size = workload::argument(argc, argv, 3, 8, usage);
  std::size_t rounds = workload::argument(argc, argv, 4, 1'000, usage);
  std::size_t writes = workload::argument(argc, argv, 5, 150'000, usage);

  std::vector<void*> given(threads);
  if (mode == "scratch")
    for (void*& object : given) object = std::malloc(size);
  std::atomic<std::size_t> wrong = 0;
  workload::StartingLine start(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    std::size_t share = rounds * (i + 1) / threads - rounds * i / threads;
    running.emplace_back([&, object = given[i], work = Work{size, share, writes}] {
      start.wait();
      std::free(object);
      wrong += write_objects(work);
    });
  }

  workload::Stopwatch stopwatch = start.release();
  for (std::thread& thread : running) thread.join();
  double ms = stopwatch.elapsed_ms();
  if (wrong > 0) workload::fail("%zu bytes have a wrong value", wrong.load());
  workload::print_json(argc, argv, {{"ms", ms}});
}
