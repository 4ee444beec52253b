// SPDX-License-Identifier: MIT
// Mutex and LockRank: a lock, and its place in the order in which all locks may nest.
//
// A thread may take a lock only if its rank is higher than that of every lock it holds; the fork
// handler takes all in this order. The debug variant checks it. Nothing that runs under an area's
// lock allocates, logs or calls back.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <cstdlib>

#include "sizeclass/base/class_id.h"
#include "sizeclass/base/machine.h"

// What clang must know about locks to check what they guard (-Wthread-safety, in `make
// check-tidy`). g++ does not know these attributes.
#ifdef __clang__
#define PKTMALLOC_LOCKING(...) __attribute__((__VA_ARGS__))
#else
#define PKTMALLOC_LOCKING(...)
#endif

#define LOCK_TYPE PKTMALLOC_LOCKING(capability("mutex"))
#define SCOPED_LOCK_TYPE PKTMALLOC_LOCKING(scoped_lockable)
#define GUARDED_BY(mutex) PKTMALLOC_LOCKING(guarded_by(mutex))
#define UNDER(mutex) PKTMALLOC_LOCKING(requires_capability(mutex))  // the caller holds it
#define LOCKS(...) PKTMALLOC_LOCKING(acquire_capability(__VA_ARGS__))
#define UNLOCKS(...) PKTMALLOC_LOCKING(release_capability(__VA_ARGS__))
#define LOCKS_IF_TRUE PKTMALLOC_LOCKING(try_acquire_capability(true))
// For one of a pair of functions: the other gives back what this one takes.
#define AROUND_FORK PKTMALLOC_LOCKING(no_thread_safety_analysis)
// Clang cannot follow these: they hold all locks, or read without one and say why.
#define NOT_FOLLOWED PKTMALLOC_LOCKING(no_thread_safety_analysis)

namespace pktmalloc {

// The engine's begin at 0; its users have ranks below, for locks taken before.
enum class LockRank : int16_t {
  kAgeing,                              // whoever gives memory back just now
  kCaches,                              // the list of thread caches
  kArea,                                // kArea + n: slabs of class n
  kMagazineArea = kArea + kMaxClasses,  // kMagazineArea + n: slabs of magazines of size n
  kPool = kMagazineArea + kMaxClasses,  // kPool + n: units of objects (0) or magazines (1)
  kStates = kPool + 2,                  // words of object states
};

constexpr LockRank operator+(LockRank rank, unsigned n) {
  return static_cast<LockRank>(static_cast<int>(rank) + static_cast<int>(n));
}

inline constexpr bool kCheckLockRanks = PKTMALLOC_DEBUG;

class LOCK_TYPE Mutex {
 public:
  // Of zeros, for the heap, which has no contents in the library's file: set_rank() comes before
  // the first lock().
  constexpr explicit Mutex(LockRank rank = {}) : rank_(rank) {}
  Mutex(Mutex&&) = delete;

  constexpr void set_rank(LockRank rank) {
    if constexpr (kCheckLockRanks) rank_ = rank;
  }

  // Does this thread hold a lock, or sleep for one? A signal handler that finds it so must wait for
  // none: it has interrupted the holder.
  static bool any_held() { return held_ != 0; }

  void lock() LOCKS() {
    if (kCheckLockRanks && rank_ <= highest_held_) abort();
    if (!try_lock()) wait();
  }
  // In the child of a fork, for a lock that the fork handler does not take: its holder is gone.
  void forget_holder() { mutex_ = PTHREAD_MUTEX_INITIALIZER; }
  bool try_lock() LOCKS_IF_TRUE { return lock_by(pthread_mutex_trylock); }
  void unlock() UNLOCKS() {
    if constexpr (kCheckLockRanks) highest_held_ = below_;
    pthread_mutex_unlock(&mutex_);
    --held_;
  }

 private:
  // It is usually held for a microsecond, so spinning a little beats sleeping. libc's adaptive
  // mutex does that, too, but reads the processor's clock, which a program may forbid (PR_SET_TSC).
  [[gnu::noinline]] void wait() LOCKS() NOT_FOLLOWED {
    for (unsigned pauses = 1; pauses < 256; pauses *= 2) {
      for (unsigned n = 0; n < pauses; ++n) machine::pause();
      if (try_lock()) return;
    }
    lock_by(pthread_mutex_lock);
  }
  bool lock_by(int (*function)(pthread_mutex_t*)) LOCKS_IF_TRUE {
    ++held_;
    if (function(&mutex_) != 0) return --held_, false;
    if constexpr (kCheckLockRanks) {
      below_ = highest_held_;
      if (rank_ > below_) highest_held_ = rank_;  // try_lock may take a lower one
    }
    return true;
  }

  pthread_mutex_t mutex_{};
  LockRank rank_;
  LockRank below_{};  // debug: the holder's highest rank before this lock; guarded by mutex_
  static inline thread_local LockRank highest_held_{INT16_MIN};  // debug
  static inline thread_local unsigned held_ = 0;
};

// Holds the lock until the end of the scope; does nothing if it is not needed.
class SCOPED_LOCK_TYPE Lock {
 public:
  explicit Lock(Mutex& mutex, bool needed = true) LOCKS(mutex) NOT_FOLLOWED
      : mutex_(needed ? &mutex : nullptr) {
    if (needed) mutex.lock();
  }
  ~Lock() UNLOCKS() NOT_FOLLOWED {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  Lock(const Lock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace pktmalloc
