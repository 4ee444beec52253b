// SPDX-License-Identifier: MIT
// With PKTMALLOC_LIMIT=64MiB a program gets so much memory and not more, by whatever call and in
// whatever sizes. What it has freed serves other sizes at once, and a refusal changes nothing.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "check.h"
#include "resident.h"

namespace {

constexpr size_t kLimit = size_t{64} << 20;
constexpr size_t kMost = kLimit / 64;

void* held[kMost];  // not on the heap
size_t count;

// Until refused. Returns the bytes asked for.
size_t fill(size_t bytes) {
  for (count = 0; count < kMost; ++count) {
    errno = 0;
    held[count] = malloc(bytes);
    if (held[count] == nullptr) {
      CHECK(errno == ENOMEM);
      break;
    }
    memset(held[count], 1, bytes);
  }
  return count * bytes;
}

void drop() {
  for (size_t i = 0; i < count; ++i) free(held[i]);
}

// A class serves up to 8 / 7 of its size, and little is lost at the ends of slabs.
void fills_and_drops(size_t bytes) {
  const size_t got = fill(bytes);
  CHECK(got > kLimit * 3 / 4);
  CHECK(got <= kLimit);
  CHECK(resident_mib() < 64 + 24);
  drop();
}

void refuses_by_every_call() {
  constexpr size_t kTooMuch = kLimit + 4096;
  errno = 0;
  CHECK(malloc(kTooMuch) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(calloc(kTooMuch / 16, 16) == nullptr && errno == ENOMEM);
  errno = 0;
  CHECK(memalign(64, kTooMuch) == nullptr && errno == ENOMEM);
  errno = 0;
  void* p = nullptr;
  CHECK(posix_memalign(&p, 4096, kTooMuch) == ENOMEM && p == nullptr && errno == 0);
  CHECK(new (std::nothrow) char[kTooMuch] == nullptr);
  bool thrown = false;
  try {
    p = operator new(kTooMuch);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  for (const size_t bytes : {size_t{100}, size_t{2} << 20}) {
    char* small = static_cast<char*>(malloc(bytes));
    memset(small, 7, bytes);
    errno = 0;
    CHECK(realloc(small, kTooMuch) == nullptr && errno == ENOMEM);
    CHECK(small[0] == 7 && small[bytes - 1] == 7);
    free(small);
  }
}

// A block grows in place, or moves, within the limit; what it gives up serves others.
void grows_and_shrinks() {
  for (int round = 0; round < 20; ++round) {
    char* block = static_cast<char*>(malloc(2 << 20));
    for (size_t mib = 3; mib <= 24; ++mib) {
      block = static_cast<char*>(realloc(block, mib << 20));
      CHECK(block != nullptr);
      block[(mib << 20) - 1] = 1;
    }
    block = static_cast<char*>(realloc(block, 2 << 20));
    CHECK(block != nullptr);
    free(block);
  }
}

// All of them are there before there is no memory for another.
void shares_it_among_threads() {
  pthread_barrier_t all;
  pthread_barrier_init(&all, nullptr, 4);
  std::vector<std::thread> threads;
  for (size_t bytes : {64, 200, 1500, 5000}) {
    threads.emplace_back([&all, bytes] {
      pthread_barrier_wait(&all);
      for (int round = 0; round < 20; ++round) {
        void* first = nullptr;
        for (void* p; (p = malloc(bytes)) != nullptr; first = p) *static_cast<void**>(p) = first;
        while (first != nullptr) {
          void* const next = *static_cast<void**>(first);
          free(first);
          first = next;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(resident_mib() < 64 + 24);
}

void is_each_childs_own() {
  void* const half = malloc(kLimit / 2);
  CHECK(half != nullptr);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(malloc(kLimit * 3 / 4) == nullptr);  // it has the half as well
    free(half);
    CHECK(malloc(kLimit * 3 / 4) != nullptr);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  free(half);
}

}  // namespace

int main() {
  refuses_by_every_call();
  for (int round = 0; round < 3; ++round) {
    for (const size_t bytes : {64, 1500, 100, 40000, 100000, 3 << 20, 256}) fills_and_drops(bytes);
  }
  grows_and_shrinks();
  is_each_childs_own();
  shares_it_among_threads();
  refuses_by_every_call();
  fills_and_drops(64);
}
