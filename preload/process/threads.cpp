// SPDX-License-Identifier: MIT
#include "preload/process/threads.h"

#include <unistd.h>

#include <atomic>

#include "preload/base/lock_rank.h"
#include "preload/base/options.h"
#include "preload/process/thread.h"

namespace pktmalloc {
namespace {

constinit Mutex mutex{
    lock_rank(OuterRank::kThreads)};  // guards the list, and that its threads live
constinit Thread* first = nullptr;

void insert(Thread& thread) {
  thread.previous = nullptr;
  thread.next = first;
  if (first != nullptr) first->previous = &thread;
  first = &thread;
}

bool is_in(const Thread& thread) { return first == &thread || thread.previous != nullptr; }

void join() {
  if (!options().control) return;
  const Lock lock(mutex);
  if (!is_in(this_thread)) insert(this_thread);
}

void leave() {
  if (!options().control) return;
  const Lock lock(mutex);
  Thread& thread = this_thread;
  if (!is_in(thread)) return;
  (thread.previous != nullptr ? thread.previous->next : first) = thread.next;
  if (thread.next != nullptr) thread.next->previous = thread.previous;
  thread.next = thread.previous = nullptr;
}

// If the options were not known yet when it got its cache.
void load() {
  if (this_thread.cache != nullptr) join();
}

void forked() {
  first = nullptr;
  this_thread.next = this_thread.previous = nullptr;
  load();
}

void divert_once() {
  Cache* const none = const_cast<Cache*>(&kNullCache);
  const Lock lock(mutex);
  for (Thread* thread = first; thread != nullptr; thread = thread->next) {
    // Each is one word, which its thread reads once a call.
    std::atomic_ref(thread->allocates_from).store(none, std::memory_order_relaxed);
    std::atomic_ref(thread->releases_to).store(none, std::memory_order_relaxed);
  }
}

}  // namespace

// Twice, because a slow call that was under way the first time sets its thread's pointers again.
void divert_next_calls() {
  divert_once();
  usleep(1000);
  divert_once();
}

Mutex& threads_mutex() { return mutex; }

constinit const Part threads_part{
    .load = load,
    .thread_start = join,
    .thread_exit = leave,
    .lock =
        []() AROUND_FORK {
          if (options().control) mutex.lock();
        },
    .unlock =
        []() AROUND_FORK {
          if (options().control) mutex.unlock();
        },
    .forked = forked,
};

}  // namespace pktmalloc
