// SPDX-License-Identifier: MIT
// Quarantine: freed objects wait here, poisoned, before anybody gets their memory again; a write to
// one meanwhile is found when it leaves, or at the latest when the program ends.
//
// First in, first out, bounded in bytes (PKTMALLOC_QUARANTINE). A ring of pointers lies apart from
// the objects; each thread adds a batch at a time. Its lock guards only the ring; objects that
// leave are inspected afterwards.
#pragma once

#include <utility>

#include "preload/checked/inspection.h"
#include "preload/process/thread.h"
#include "sizeclass/base/mutex.h"
#include "sizeclass/base/raised.h"

namespace pktmalloc::checked {

void start_quarantine(size_t bytes, int rate);

// What a thread freed last. So few wait that they are still in the processor's cache when they are
// inspected and used again: 64 of them, and 512 KiB besides the small ones.
//
//     | where its memory begins: 48 | 0, its class:                 15 |    a place of a small one
//     | its user's bytes            | 1, of these the 64ths:        15 |    of another
struct Recent {
  static constexpr unsigned kMost = 64;
  static constexpr size_t kMostBytes = size_t{512} << 10;
  static constexpr uint64_t kOther = 0x8000;
  static_assert(kMostBytes / 64 < kOther);

  static bool is_other(uint64_t place) { return (place & kOther) != 0; }
  static size_t amount_of(uint64_t place) { return place & (kOther - 1); }  // 64ths, of another
  // Returns the longest to wait, whose place it takes; 0: there was none.
  uint64_t swap(uint64_t place) {
    const Raised is_at_work(at_work);
    const uint64_t longest = std::exchange(places[next++ % kMost], place);
    __builtin_prefetch(reinterpret_cast<void*>(places[(next + 1) % kMost] >> 16));
    return longest;
  }

  // This thread is changing its lists or holds the lock. A signal handler that frees meanwhile sees
  // the mark and does not let its object wait.
  bool at_work;
  bool chooses;
  unsigned next;
  size_t other_64ths;
  uint64_t frees;
  uint64_t places[kMost];
};
inline constinit thread_local Recent recent __attribute__((visibility("hidden"))){};

// Which objects wait long: runs of frees, chosen by multiples of the golden ratio, so that no
// rhythm of the program's can hide an object for ever. Runs, because each object keeps its slab in
// memory, and what is freed together often lies together.
inline constinit uint64_t long_below = 0;
inline bool chosen() {
  constexpr unsigned kRun = 64;
  if (recent.frees++ % kRun == 0) {
    recent.chooses = (recent.frees / kRun + 1) * 0x9E3779B97F4A7C15 <= long_below;
  }
  return recent.chooses;
}

inline constinit size_t most_recent_bytes = 0;  // of one object; 0: none waits shortly
inline bool can_wait_shortly(size_t bytes) {
  return bytes <= most_recent_bytes && this_thread.releases_to != &kNullCache && !recent.at_work;
}

void leave_recent(uint64_t place);
void quarantine_slow(Object object, bool waits_long);

// Takes an object that is freed, of the class or of none. Its memory goes back at once if it is too
// large to wait.
[[gnu::always_inline]] inline void quarantine(const Object& object, ClassId id) {
  const size_t bytes = static_cast<size_t>(object.end - object.user);
  const bool waits_long = chosen();
  if (waits_long || bytes > kPoisonedWhole || id == kNoClass || object.head.is_aligned() ||
      !can_wait_shortly(bytes)) [[unlikely]] {
    return quarantine_slow(object, waits_long);
  }
  fill(object.user, bytes);
  const auto begin = reinterpret_cast<uintptr_t>(object.user - kFront);
  leave_recent(recent.swap(begin << 16 | static_cast<uint64_t>(id)));
}

// What this thread freed, and the oldest in the ring beyond so many bytes, are inspected and, as a
// rule, given back; what other threads freed last is not. At exit nothing goes back to the heap: a
// signal handler that allocates would find its locks held.
void leave_quarantine(size_t most_bytes, bool gives_back = true);

extern Mutex quarantine_mutex;  // held around a fork

}  // namespace pktmalloc::checked
