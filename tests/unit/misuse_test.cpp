// SPDX-License-Identifier: MIT
// What a cache notices of wrong frees, and when.
#include "sizeclass/base/misuse.h"

#include <sys/time.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <memory>
#include <vector>

#include "tests/unit/child.h"
#include "tests/unit/stock.h"

using namespace pktmalloc;
using namespace pktmalloc::test;

namespace {

enum Found { kNothing, kAgain, kDouble, kNoObject };

void exit_with(Misuse misuse, uintptr_t, size_t) {
  _exit(misuse == Misuse::kFreedAgain   ? kAgain
        : misuse == Misuse::kDoubleFree ? kDouble
                                        : kNoObject);
}

constexpr ClassId kOnly{1};
constexpr size_t kMany = 1000;

// A thread with many objects of one size.
struct Thread {
  explicit Thread(size_t bytes) : stock({bytes}, 2047) {
    misuse_handler = exit_with;
    for (size_t n = 0; n < kMany; ++n) objects.push_back(stock.allocate(*cache, kOnly));
  }
  void release(void* object) { stock.release(*cache, kOnly, object); }
  void release_next(size_t count) {
    for (; count > 0; --count) release(objects[next++]);
  }

  void use(int rounds) {  // of 400 objects
    for (; rounds > 0; --rounds) {
      release_next(400);
      for (next = 0; next < 400; ++next) objects[next] = stock.allocate(*cache, kOnly);
      next = 0;
    }
  }
  void see_end(uint64_t ticks) {
    for (; ticks > 0; --ticks) stock.due.end_tick();
    cache->visits.tick = stock.due.tick();
    cache->saw(stock.due.word());
  }
  // As at the end of the process.
  void end() {
    while (cache->flush_idle(stock.supply, 0, kNoClass)) continue;
  }
  // With six others between.
  void free_twice() {
    void* const object = objects[next];
    release_next(6);
    release(object);
    release_next(kMany - next);
  }

  Stock stock;
  std::unique_ptr<Cache> cache = std::make_unique<Cache>();
  std::vector<void*> objects;
  size_t next = 0;
};

template <typename Body>
int found(size_t bytes, Body body) {
  return end_of_child([&] {
           Thread thread(bytes);
           body(thread);
           return kNothing;
         })
      .status;
}

}  // namespace

TEST_CASE("a second free at once is found at the call, wherever the magazines stand") {
  for (const size_t bytes : {16, 1536, 16384}) {
    for (const size_t before : {0, 1, 2, 3, 7, 30, 31, 32, 33, 255, 256, 257, 700}) {
      CAPTURE(bytes, before);
      CHECK(found(bytes, [&](Thread& t) {
              t.release_next(before);
              void* const object = t.objects[t.next];
              t.release_next(1);
              t.release(object);
            }) == kAgain);
    }
  }
}

TEST_CASE("a second free after a few others is found when the magazine leaves the thread") {
  for (const size_t bytes : {16, 1536, 16384}) {
    for (size_t before = 0; before < 500; before += 31) {
      // Of large objects a magazine holds 2 unless its thread is fast.
      const size_t between = before % (bytes < 16384 ? 12 : 1) + 1;
      CAPTURE(bytes, before, between);
      const auto twice = [&](Thread& t) {
        t.release_next(before);
        void* const object = t.objects[t.next];
        t.release_next(1 + between);
        t.release(object);
      };
      CHECK(found(bytes, [&](Thread& t) {
              twice(t);
              t.release_next(kMany - t.next);
            }) == kDouble);
      CHECK(found(bytes, [&](Thread& t) {
              twice(t);
              t.cache->flush(t.stock.supply);
            }) == kDouble);
      CHECK(found(bytes, [&](Thread& t) {
              twice(t);
              t.end();
            }) == kDouble);
    }
  }
}

TEST_CASE("a thread that is not busy looks for second frees at every tick") {
  for (const uint64_t ticks : {0, 1, 0xfffe, 0xffff, 0x10000, 0x1ffff}) {
    CAPTURE(ticks);
    CHECK(found(64, [&](Thread& t) { t.see_end(ticks), t.use(4), t.free_twice(); }) == kDouble);
  }
}

TEST_CASE("a busy thread looks for second frees once a tick") {
  for (const size_t bytes : {16, 64, 1536}) {
    CAPTURE(bytes);
    CHECK(found(bytes, [](Thread& t) { t.use(100), t.see_end(0), t.free_twice(); }) == kNothing);
    for (const uint64_t ticks : {1, 2, 255, 0xfffe, 0x1ffff}) {
      CHECK(found(bytes, [&](Thread& t) { t.use(100), t.see_end(ticks), t.free_twice(); }) ==
            kDouble);
    }
  }
}

TEST_CASE("what is no object is found when the magazine leaves the thread") {
  for (const size_t bytes : {16, 48, 592, 1536, 16384}) {
    for (const ptrdiff_t off : {ptrdiff_t{1}, ptrdiff_t{8}, ptrdiff_t{-1}, ptrdiff_t{20} << 20}) {
      CAPTURE(bytes, off);
      const auto wrong = [&](Thread& t) { t.release(static_cast<char*>(t.objects[500]) + off); };
      CHECK(found(bytes, [&](Thread& t) {
              wrong(t);
              t.release_next(400);
              t.release_next(kMany - 400);
            }) == kNoObject);
      CHECK(found(bytes, [&](Thread& t) {
              wrong(t);
              t.end();
            }) == kNoObject);
    }
  }
}

TEST_CASE("right frees in any order are found right") {
  for (const size_t bytes : {16, 48, 592, 1536, 16384}) {
    CAPTURE(bytes);
    CHECK(found(bytes, [](Thread& t) {
            // Objects whose numbers agree in many bits share entries of the table.
            for (size_t step : {64, 128, 256}) {
              for (size_t first = 0; first < step; ++first) {
                for (size_t n = first; n < kMany; n += step) t.release(t.objects[n]);
              }
              t.end();
              for (void*& object : t.objects) object = t.stock.allocate(*t.cache, kOnly);
            }
          }) == kNothing);
  }
}

namespace {
Thread* interrupted = nullptr;
}

TEST_CASE("a cache that a signal finds half changed is left as it is") {
  for (int us = 20; us < 220; ++us) {
    CAPTURE(us);
    CHECK(found(1536, [&](Thread& t) {
            interrupted = &t;
            signal(SIGALRM, [](int) {
              interrupted->end();
              _exit(kNothing);
            });
            const itimerval soon = {{0, 0}, {0, us}};
            setitimer(ITIMER_REAL, &soon, nullptr);
            // Full and empty magazines change places all the time.
            for (;;) {
              for (void* object : t.objects) t.release(object);
              for (void*& object : t.objects) object = t.stock.allocate(*t.cache, kOnly);
            }
          }) == kNothing);
  }
}
