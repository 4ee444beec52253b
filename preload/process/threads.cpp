// SPDX-License-Identifier: MIT
#include "preload/process/threads.h"

#include <unistd.h>

#include <atomic>

#include "preload/base/lock_rank.h"
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
  const Lock lock(mutex);
  if (!is_in(this_thread)) insert(this_thread);
}

void leave() {
  const Lock lock(mutex);
  Thread& thread = this_thread;
  if (!is_in(thread)) return;
  (thread.previous != nullptr ? thread.previous->next : first) = thread.next;
  if (thread.next != nullptr) thread.next->previous = thread.previous;
  thread.next = thread.previous = nullptr;
}

void forked() {
  first = nullptr;
  this_thread.next = this_thread.previous = nullptr;
  if (this_thread.cache != nullptr) join();
}

// Were there any but the caller?
bool divert_once() {
  Cache* const none = const_cast<Cache*>(&kNullCache);
  bool others = false;
  const Lock lock(mutex);
  for (Thread* thread = first; thread != nullptr; thread = thread->next) {
    others |= thread != &this_thread;
    // Each is one word, which its thread reads once a call.
    std::atomic_ref(thread->allocates_from).store(none, std::memory_order_relaxed);
    std::atomic_ref(thread->releases_to).store(none, std::memory_order_relaxed);
  }
  return others;
}

}  // namespace

// Twice, because a slow call that was under way the first time sets its thread's pointers again.
void divert_next_calls() {
  if (!divert_once()) return;
  usleep(1000);
  divert_once();
}

Mutex& threads_mutex() { return mutex; }

constinit const Part threads_part{
    .thread_start = join,
    .thread_exit = leave,
    .lock = []() AROUND_FORK { mutex.lock(); },
    .unlock = []() AROUND_FORK { mutex.unlock(); },
    .forked = forked,
};

}  // namespace pktmalloc
