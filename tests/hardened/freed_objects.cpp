// SPDX-License-Identifier: MIT
// What a program can see of the hardened library's freed memory.
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "tests/programs/check.h"

namespace {

template <typename T>
T* hidden(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

unsigned char* filled(size_t bytes) {
  auto* p = static_cast<unsigned char*>(hidden(malloc(bytes)));
  memset(p, 0xA5, bytes);
  return p;
}

bool zero(const unsigned char* p, size_t from, size_t to) {
  return std::all_of(hidden(p) + from, hidden(p) + to, [](unsigned char c) { return c == 0; });
}

// The first 16 bytes are zero at once; `cleared` of them by the time somebody else gets the object.
void is_cleared(size_t bytes, size_t cleared) {
  unsigned char* const p = filled(bytes);
  free(p);
  CHECK(zero(p, 0, 16));
  unsigned char* again = nullptr;
  for (int i = 0; i < 1'000'000 && again != p; ++i) {
    again = static_cast<unsigned char*>(hidden(malloc(bytes)));
    if (again == p) CHECK(zero(p, 0, std::min(bytes, cleared)));
    memset(again, 0xA5, bytes);
    free(again);
  }
  CHECK(again == p);
}

// Writes to each 16 bytes that are looked at, of freed objects that wait no more; how many.
int write_after_free() {
  int writes = 0;
  for (const size_t bytes : {16, 32, 48, 64, 1500}) {
    for (size_t at = 15; at < std::min<size_t>(bytes, 64); at += 16) {
      std::vector<unsigned char*> objects(400);
      for (unsigned char*& object : objects) object = filled(bytes);
      unsigned char* const p = objects[0];
      for (unsigned char* object : objects) free(object);
      hidden(p)[at] = 1;
      objects.clear();
      while (objects.empty() || objects.back() != p) objects.push_back(filled(bytes));
      for (unsigned char* object : objects) free(object);
      ++writes;
    }
  }
  return writes;
}

// How many pairs of malloc and free it takes until the object comes again.
int pairs_until(void* p, size_t bytes) {
  free(p);
  for (int pairs = 1;; ++pairs) {
    void* const other = hidden(malloc(bytes));
    free(other);
    if (other == p) return pairs;
  }
}

void comes_late_and_at_random(size_t bytes) {
  long sum = 0;
  std::set<int> different;
  for (int i = 0; i < 300; ++i) {
    const int pairs = pairs_until(filled(bytes), bytes);
    sum += pairs;
    different.insert(pairs);
  }
  CHECK(sum > 300 * 8);  // 16 expected, with a deviation of 16 / sqrt(300) of the mean
  CHECK(different.size() > 10);
}

void begins_in_no_order() {
  std::vector<char*> objects(200);
  for (char*& p : objects) p = static_cast<char*>(hidden(malloc(320)));
  int ascending = 0;
  for (size_t i = 1; i < objects.size(); ++i) ascending += objects[i] == objects[i - 1] + 320;
  CHECK(ascending < 50);
  for (char* p : objects) free(p);
}

void nothings_differ() {
  std::set<void*> all;
  for (int i = 0; i < 70'000; ++i) all.insert(hidden(malloc(0)));
  CHECK(all.size() == 70'000 && all.count(nullptr) == 0);
  for (void* p : all) {
    CHECK(malloc_usable_size(p) < 32);  // some are real objects
    free(p);
  }
  void* p = realloc(hidden(malloc(0)), 100);
  CHECK(malloc_usable_size(p) >= 100);
  free(p);
  CHECK(hidden(calloc(0, 8)) != nullptr);
  CHECK(hidden(aligned_alloc(64, 0)) != nullptr);
}

// Threads free each other's objects; every byte written is still there when it is freed.
void threads_exchange() {
  constexpr int kThreads = 4, kObjects = 2000, kRounds = 30;
  static unsigned char* exchanged[kObjects];
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      unsigned random = static_cast<unsigned>(t) + 1;
      for (int i = 0; i < kRounds * kObjects; ++i) {
        random = random * 1664525 + 1013904223;
        const size_t bytes = 16 + (random >> 8) % 600;
        unsigned char* p = filled(bytes);
        p[0] = static_cast<unsigned char>(bytes);
        p = __atomic_exchange_n(&exchanged[random % kObjects], p, __ATOMIC_ACQ_REL);
        if (p == nullptr) continue;
        CHECK(p[1] == 0xA5 && p[15] == 0xA5);
        free(p);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned char* p : exchanged) free(p);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "written") == 0) {
    printf("%d\n", write_after_free());
    return 0;
  }
  const size_t cleared = argc > 1 ? size_t{256} << 10 : 64;
  for (const size_t bytes : {16, 48, 64, 1500, 5000}) is_cleared(bytes, cleared);
  comes_late_and_at_random(64);
  comes_late_and_at_random(1500);
  begins_in_no_order();
  nothings_differ();
  threads_exchange();
  return 0;
}
