// SPDX-License-Identifier: MIT
#include "preload/process.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>

#include <cstdlib>

#include "preload/background.h"
#include "preload/checks.h"
#include "preload/environment.h"
#include "preload/lock_rank.h"
#include "preload/message.h"
#include "preload/next_allocator.h"
#include "preload/options.h"
#include "preload/own_thread.h"
#include "preload/profile.h"
#include "preload/report.h"
#include "preload/reporter.h"
#include "preload/route.h"
#include "preload/sampler.h"
#include "preload/sizes.h"
#include "preload/thread.h"
#include "preload/trace.h"
#include "preload/window.h"
#include "sizeclass/keep_errno.h"
#include "sizeclass/misuse.h"

// glibc's lock of the list of all FILEs, recursive; exported, in no header.
extern "C" __attribute__((weak)) void _IO_list_lock();
extern "C" __attribute__((weak)) void _IO_list_unlock();

namespace pktmalloc {

constinit Heap heap;
constinit uint32_t in_place_bytes[kMaxClasses]{};
constinit thread_local Thread this_thread{const_cast<Cache*>(&kNullCache),
                                          const_cast<Cache*>(&kNullCache),
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          false,
                                          false,
                                          false,
                                          nullptr};

namespace {

constinit Mutex start_mutex{lock_rank(OuterRank::kStart)};
constinit std::atomic<bool> started = false;
constinit std::atomic<uint64_t> forks = 0;
constinit thread_local bool aborting = false;  // after a misuse; may hold a lock for ever
pthread_key_t exit_key;
constinit bool have_exit_key = false;

void on_thread_exit(void* cache) {
  checks_thread_exit();
  observers_thread_exit();
  // Whatever else this thread still allocates or frees goes to the slabs directly: other keys'
  // destructors and libc's own teardown come after us.
  if (sampling) sampler_detach();
  this_thread.direct = true;
  this_thread.cache = nullptr;
  publish(nullptr);
  heap.detach(static_cast<Cache*>(cache));
  // The process ends with its last thread: ours must not keep it. Threads that did not allocate yet
  // may be left; they start them again.
  if (heap.threads_alive() == 0) {
    background_end();
    reporter_end();
  }
}

// glibc skips its own locks when it forks a process with one thread, and so do we: a signal handler
// may fork while it interrupts a slow path. Likewise after a misuse: a SIGABRT handler may fork,
// and the thread may hold a lock of ours for ever.
void before_fork() AROUND_FORK {
  if (__libc_single_threaded != 0 || aborting) return;
  // fork takes the lock of all FILEs after our handlers, and its holders allocate: we take it
  // first.
  if (_IO_list_lock != nullptr) _IO_list_lock();
  start_mutex.lock();
  next_allocator_mutex().lock();
  background_mutex().lock();
  reporter_lock();
  profile_lock();
  checks_lock();
  observers_lock();
  heap.lock_all();
  this_thread.forking = true;
}

// False if before_fork() took no locks.
bool unlock_after_fork() AROUND_FORK {
  if (!this_thread.forking) return false;
  this_thread.forking = false;
  heap.unlock_all();
  observers_unlock();
  checks_unlock();
  profile_unlock();
  reporter_unlock();
  background_mutex().unlock();
  next_allocator_mutex().unlock();
  start_mutex.unlock();
  // Freed by other libraries' fork handlers, which ran between ours.
  while (void* p = this_thread.set_aside) {
    this_thread.set_aside = *static_cast<void**>(p);
    release_slow(p);
  }
  return true;
}

void after_fork_in_parent() {
  if (unlock_after_fork() && _IO_list_unlock != nullptr) _IO_list_unlock();
}

void after_fork_in_child() {
  unlock_after_fork();  // the lock of all FILEs was made anew by fork
  forks.fetch_add(1, std::memory_order_relaxed);
  heap.forget_other_threads(this_thread.cache);
  background_forget();
  observers_forked();
  reporter_forget();
}

[[noreturn]] void on_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
  aborting = true;
  const char* what =
      misuse == Misuse::kDoubleFree ? "double free" : "free of a pointer inside an object";
  message("%s: %#zx, class of %zu bytes", what, size_t{pointer}, object_bytes);
  abort();
}

// Half of the address space that is allowed, so that the program keeps the other half for what we
// do not serve.
size_t address_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~size_t{0};
  return limit.rlim_cur / 2;
}

void start_process() {
  const Lock lock(start_mutex);
  if (started.load(std::memory_order_relaxed)) return;
  read_options();
  set_misuse_handler(on_misuse);
  HeapConfig config;
  config.address_limit = address_limit();
  config.interval_ms = options().age_ms;
  if (options().class_count > 0) {
    config.sizes = options().class_sizes;
    config.sizes_count = options().class_count;
  }
  heap.ageing().on_tick([] { next_allocator_tick(); });
  heap.start(config);
  for (unsigned i = 0; i < heap.classes().count(); ++i) {
    in_place_bytes[i] = heap.classes()[static_cast<ClassId>(i)].object_bytes;
  }
  checks_start();
  // From here on what libc allocates is served from our slabs. The handlers come before the word
  // that we have started: no thread can use a heap that a fork would not lock.
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  have_exit_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
  started.store(true, std::memory_order_release);
}

// Before other constructors where the loader lets us choose, so that dlsym is called while the
// process has one thread and no lock of the loader is held by another.
__attribute__((constructor(101))) void on_load() {
  const KeepErrno keep;  // a program finds 0 at its start
  cache_of_this_thread();
  read_options();  // if the first request came before libc knew the environment
  next_allocator();
  if (heap.started()) next_allocator().keep_heap_top();
  checks_load();
  open_window();
  OwnThread::allow();
  report_start();
  profile_load();
  reporter_load();
  sizes_load();
  trace_load();
  if (!options().children) leave_environment();
}

__attribute__((destructor)) void on_exit() {
  if (aborting) return;
  checks_exit();
  observers_exit();
  report_at_exit();
}

}  // namespace

Cache* enter_thread() {
  this_thread.direct = true;  // for what the following calls allocate themselves
  if (!started.load(std::memory_order_acquire)) start_process();
  Cache* cache = heap.attach();
  // pthread_setspecific may allocate; without the key this thread's magazines would be lost with
  // it.
  if (cache != nullptr && (!have_exit_key || pthread_setspecific(exit_key, cache) != 0)) {
    heap.detach(cache);
    cache = nullptr;
  }
  this_thread.cache = cache;
  if (sampling && cache != nullptr) sampler_attach();
  // Without memory for a cache this call does without; the next one tries again.
  this_thread.direct = !heap.started();
  publish(cache);
  return cache;
}

const std::atomic<uint64_t>& fork_count() { return forks; }

}  // namespace pktmalloc
