// SPDX-License-Identifier: MIT
#include "preload/process.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstdlib>

#include "preload/background.h"
#include "preload/message.h"
#include "preload/next_allocator.h"
#include "preload/options.h"
#include "preload/report.h"
#include "preload/thread.h"
#include "sizeclass/misuse.h"

namespace pktmalloc {

constinit Heap heap;
constinit thread_local Thread this_thread{const_cast<Cache*>(&kNullCache),
                                          const_cast<Cache*>(&kNullCache), nullptr, false};

namespace {

constinit Mutex start_mutex{LockRank::kStart};
constinit std::atomic<bool> started = false;
constinit std::atomic<uint64_t> fork_count = 0;
pthread_key_t exit_key;
constinit bool have_exit_key = false;

void on_thread_exit(void* cache) {
  // Whatever else this thread still allocates or frees goes to the slabs directly: other keys'
  // destructors and libc's own teardown come after us.
  this_thread.direct = true;
  this_thread.cache = nullptr;
  publish(nullptr);
  heap.detach(static_cast<Cache*>(cache));
}

void before_fork() {
  start_mutex.lock();
  next_allocator_mutex().lock();
  background_mutex().lock();
  heap.lock_all();
}

void after_fork_in_parent() {
  heap.unlock_all();
  background_mutex().unlock();
  next_allocator_mutex().unlock();
  start_mutex.unlock();
}

void after_fork_in_child() {
  after_fork_in_parent();
  fork_count.fetch_add(1, std::memory_order_relaxed);
  heap.forget_other_threads(this_thread.cache);
  background_forget();
}

[[noreturn]] void on_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
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
  heap.start(config);
  // From here on what libc allocates is served from our slabs. The handlers come before the word
  // that we have started: no thread can use a heap that a fork would not lock.
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  have_exit_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
  started.store(true, std::memory_order_release);
}

// Before other constructors where the loader lets us choose, so that dlsym is called while the
// process has one thread and no lock of the loader is held by another.
__attribute__((constructor(101))) void on_load() {
  cache_of_this_thread();
  next_allocator();
  heap.ageing().on_tick([] { next_allocator().tick(); });
  report_start();
}

__attribute__((destructor)) void on_exit() { report_at_exit(); }

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
  this_thread.direct = cache == nullptr;
  publish(cache);
  return cache;
}

uint64_t forks() { return fork_count.load(std::memory_order_relaxed); }

}  // namespace pktmalloc
