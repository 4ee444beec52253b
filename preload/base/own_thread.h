// SPDX-License-Identifier: MIT
// OwnThread: a thread of the library's own, at most one of each kind per process, with all signals
// blocked and a small stack. It uses the processors and the nice value that the process had at
// load, never a real-time priority: the thread that starts it may be pinned and spin.
//
// It starts at load, on the slow path of an allocating function or as a thread ends, never from
// free: libc calls free while it holds its thread-stack lock, which pthread_create takes as well.
// In the child of a fork it is gone; the child's next consideration may start its own. A process
// ends with its last thread, so the last of the program's threads ends ours before.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/mutex.h"

namespace pktmalloc {

// A word on which such a thread sleeps; by number, because libc has no function for it. Safe in
// signal handlers. Returns at a wake, at a signal, after `timeout` (nullptr: never), or at once if
// the word is not `value`.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t value, const timespec* timeout) {
  syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

inline void futex_wake_one(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, nullptr, nullptr, 0);
}

// This thread is inside dl_iterate_phdr (loader_walk.cpp).
inline constinit thread_local bool walks_loader __attribute__((visibility("hidden"))) = false;

class OwnThread {
 public:
  // `run` returns when ending() is true.
  constexpr OwnThread(LockRank rank, const char* name, size_t stack_bytes, void (*run)())
      : mutex(rank), name_(name), stack_bytes_(stack_bytes), run_(run) {}

  // At load, before any start(): looks up libc's own pthread_create, because a wrapper's may be the
  // one allocating, and how the process is scheduled.
  static void allow();

  // It runs, or never will.
  bool settled() const { return settled_.load(std::memory_order_relaxed); }

  // Starts it if nobody has; true if this call did. Not now, if the thread walks the loader's list
  // or is in strict mode; nor in the child of vfork, whose thread would end with it.
  bool start(bool (*in_own_memory)());

  // For run(): rest() sleeps so many milliseconds, or until ending() is true.
  bool ending() const { return ending_.load(std::memory_order_seq_cst) != 0; }
  void rest(uint64_t ms) {
    const timespec time{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1000000};
    futex_wait(ending_, 0, &time);
  }

  // rest() returns early, unless it is about to begin.
  void nudge() { futex_wake_one(ending_); }

  // Ends it and waits until it has ended; another start() may follow. `wake` wakes a thread that
  // sleeps in another way than rest().
  void end(void (*wake)());

  // In the child of a fork, where it is gone. False: there was none, and nothing is written.
  bool forget() {
    if (!settled() && !ending()) return false;
    running_ = false;
    ending_.store(0, std::memory_order_relaxed);
    entered_.store(0, std::memory_order_relaxed);
    settled_.store(false, std::memory_order_relaxed);
    return true;
  }

  // Held while the thread is being started, and around a fork.
  Mutex mutex;

 private:
  bool create();
  static void* enter(void* self);

  const char* name_;
  size_t stack_bytes_;
  void (*run_)();
  std::atomic<bool> settled_ = false;
  std::atomic<uint32_t> ending_ = 0;   // futex word
  std::atomic<uint32_t> entered_ = 0;  // likewise: 1 once it runs
  bool running_ = false;               // guarded by `mutex`, like the next one
  pthread_t thread_{};
};

}  // namespace pktmalloc
