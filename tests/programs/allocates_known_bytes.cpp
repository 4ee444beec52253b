// SPDX-License-Identifier: MIT
// Functions that allocate known numbers of bytes, for estimates to be held against. With an
// argument it tells: each line is a function, the size and number of its objects, and of those that
// live on; profile_test.cpp compares.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "check.h"
#include "interface.h"

namespace {

std::vector<void*> kept;
bool tells = false;

template <typename... Values>
void tell(const char* format, Values... values) {
  if (tells) printf(format, values...);
}

// Every fourth object lives on.
template <typename Allocate>
void churn(const char* name, size_t bytes, size_t count, Allocate allocate,
           void (*release)(void*) = free) {
  for (size_t i = 0; i < count; ++i) {
    void* p = allocate(bytes);
    CHECK(p != nullptr);
    if (i % 4 == 0) {
      kept.push_back(p);
    } else {
      release(p);
    }
  }
  tell("%s %zu %zu %zu\n", name, bytes, count, (count + 3) / 4);
}

}  // namespace

#define KNOWN extern "C" __attribute__((noinline, noclone)) void

KNOWN tiny() { churn(__func__, 1, 4000000, malloc); }
KNOWN between_classes() { churn(__func__, 1100, 200000, malloc); }
KNOWN near_the_rate() { churn(__func__, 20000, 40000, malloc); }
KNOWN above_the_rate() { churn(__func__, 300000, 2000, malloc); }
KNOWN not_pooled() { churn(__func__, 2000000, 400, malloc); }
KNOWN zeroed() {
  churn(__func__, 3000, 80000, [](size_t bytes) { return calloc(1, bytes); });
}
KNOWN by_new() {
  churn(
      __func__, 500, 400000, [](size_t bytes) { return operator new(bytes); },
      [](void* p) { operator delete(p); });
}
KNOWN overaligned() {
  churn(__func__, 2048, 100000, [](size_t bytes) { return aligned_alloc(256, bytes); });
}
// Resized in place where pooled: the estimate of what lives must not suffer.
KNOWN grown_in_place() {
  for (int i = 0; i < 100000; ++i) {
    void* p = malloc(1300);
    for (size_t bytes = 1320; bytes <= 1400; bytes += 20) p = realloc(p, bytes);
    kept.push_back(p);
  }
  tell("%s %d %d %d\n", __func__, 1400, 0, 100000);
}
KNOWN in_batches() {
  void* objects[32];
  for (int i = 0; i < 6250; ++i) {
    CHECK(pktmalloc_allocate_batch(900, 32, objects) == 32);
    kept.insert(kept.end(), objects, objects + 8);
    pktmalloc_release_batch(objects + 8, 24);
  }
  tell("%s %d %d %d\n", __func__, 900, 6250 * 32, 6250 * 8);
}
KNOWN in_a_thread() {
  for (int i = 0; i < 500; ++i) free(malloc(1500));
}
KNOWN in_threads() {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(in_a_thread);
    for (std::thread& thread : threads) thread.join();
  }
  tell("in_a_thread %d %d %d\n", 1500, 50 * 4 * 500, 0);
}
KNOWN freed_elsewhere() {
  std::vector<void*> objects(100000);
  for (void*& p : objects) p = malloc(2500);
  std::thread([&] {
    for (void* p : objects) free(p);
  }).join();
  tell("%s %d %d %d\n", __func__, 2500, 100000, 0);
}

int main(int argc, char**) {
  tells = argc > 1;
  kept.reserve(3000000);
  tiny();
  between_classes();
  near_the_rate();
  above_the_rate();
  not_pooled();
  zeroed();
  by_new();
  overaligned();
  grown_in_place();
  freed_elsewhere();
  in_batches();
  in_threads();
  return 0;
}
