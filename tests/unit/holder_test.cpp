// SPDX-License-Identifier: MIT
#include "sizeclass/heap/holder.h"

#include <catch2/catch.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/child.h"

using namespace pktmalloc;

namespace {

// A sanitizer does not bear a thread that skips its end.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMaySkipEnd = false;
#else
constexpr bool kMaySkipEnd = true;
#endif

struct Stay {
  Holder holder;
  bool leaves;
  bool skips_end;
};

void* stay(void* p) {
  auto& s = *static_cast<Stay*>(p);
  s.holder.enter(&s);
  if (s.leaves) s.holder.leave();
  if (s.skips_end) syscall(SYS_exit, 0);
  return nullptr;
}

}  // namespace

TEST_CASE("a thread that ended without leaving has ended, once, and one that left has not") {
  for (const bool skips_end : {false, kMaySkipEnd}) {
    for (const bool leaves : {false, true}) {
      Stay s{{}, leaves, skips_end};
      for (int round = 0; round < 2; ++round) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, nullptr, stay, &s) == 0);
        REQUIRE(pthread_join(thread, nullptr) == 0);
        CHECK(s.holder.has_ended() == !leaves);
        CHECK(s.holder.thread() == nullptr);
        CHECK_FALSE(s.holder.has_ended());
      }
    }
  }
}

TEST_CASE("a thread that stays has not ended, nor have those that a child of fork forgets") {
  Holder mine, other;
  int me = 0;
  other.enter(&other);
  mine.enter(&me);
  CHECK_FALSE(mine.has_ended());
  const auto ending = test::end_of_child([&] {
    if (mine.has_ended()) return 1;
    Holder::forget_all();
    if (mine.has_ended() || mine.thread() != nullptr) return 4;
    mine.enter(&me);
    if (mine.has_ended() || mine.thread() != &me || other.thread() != nullptr) return 2;
    mine.leave();
    return mine.thread() == nullptr ? 0 : 3;
  });
  CHECK(ending.status == 0);
  other.leave();
  mine.leave();
  CHECK(mine.thread() == nullptr);
  CHECK_FALSE(mine.has_ended());
}
