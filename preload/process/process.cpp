// SPDX-License-Identifier: MIT
#include "preload/process/process.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <utility>

#include "preload/base/library_function.h"
#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/base/system_memory.h"
#include "preload/base/this_library.h"
#include "preload/formats/quiet_write.h"
#include "preload/process/thread.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/memory_limit.h"
#include "sizeclass/base/misuse.h"

// glibc's lock on the list of all FILEs, recursive; exported, but in no header.
extern "C" __attribute__((weak)) void _IO_list_lock();
extern "C" __attribute__((weak)) void _IO_list_unlock();
// What pthread_atfork calls; without a module it is for ever.
extern "C" int __register_atfork(void (*)(), void (*)(), void (*)(), void* module) noexcept;

namespace pktmalloc {

namespace {

constinit Mutex start_mutex{kStartRank};
constinit std::atomic<bool> started = false;
constinit std::atomic<uint64_t> forks = 0;
constinit uint64_t forked_ms = 0;  // when this process was
constinit pid_t process = 0;
constinit thread_local bool aborting = false;  // after a misuse; may hold a lock for ever
constinit pthread_key_t exit_key = ~0U;        // no key
constinit thread_local bool leaving = false, locked = false;  // at its end; by before_fork()

constexpr Part kNoPart;
constexpr bool kAll = true, kChecked = PKTMALLOC_CHECKED, kHardened = PKTMALLOC_HARDENED;
constexpr const Part* kParts[] = {
#define PART(name, library) k##library ? &name##_part : &kNoPart,
#include "preload/process/parts.def"
};

template <typename At>
void each(At at, At end, void (*Part::*step)()) {
  for (; at != end; ++at) {
    if (const auto call = (*at)->*step) call();
  }
}
void each_part(void (*Part::*step)()) { each(std::begin(kParts), std::end(kParts), step); }
void each_part_back(void (*Part::*step)()) { each(std::rbegin(kParts), std::rend(kParts), step); }

// `value` may be another copy's: one in another name space of the loader has the same key.
void on_thread_exit(void* value) {
  // In the next round, behind other keys' destructors: what these call is served as ever.
  if (!std::exchange(leaving, true) && pthread_setspecific(exit_key, value) == 0) return;
  // Everything this thread still allocates or frees goes to the slabs directly: destructors that
  // come again and libc's own teardown do so after us.
  this_thread.direct = true;
  background_consider();  // those who freed all, with nobody left who allocates
  each_part_back(&Part::thread_exit);
  Cache* const cache = std::exchange(this_thread.cache, nullptr);
  publish(nullptr);
  if (cache != nullptr) heap.detach(cache);
  // The process ends with its last thread: ours must not keep it alive. Threads that did not
  // allocate yet may remain; they start them again.
  if (!heap.has_threads()) each_part_back(&Part::last_thread);
}

// glibc skips its own locks when it forks a process with one thread, and so do we: a signal handler
// may fork while it interrupts a slow path. Likewise after a misuse: a SIGABRT handler may fork,
// and the thread may hold a lock of ours for ever; and at exit, while the heap ends.
EVERY_PROCESS void before_fork() AROUND_FORK {
  if (has_one_thread() || aborting || this_thread.forking) return;
  // fork takes the lock on all FILEs after our handlers, and its holders allocate: we take it
  // first.
  if (_IO_list_lock != nullptr) _IO_list_lock();
  start_mutex.lock();
  for (const Part* const part : kParts) {
    for (Mutex* const mutex : part->mutexes) {
      if (mutex != nullptr) mutex->lock();
    }
    if (part->lock != nullptr) part->lock();
  }
  heap.lock_all();
  this_thread.forking = locked = true;
}

// False if before_fork() took no locks.
EVERY_PROCESS bool unlock_after_fork() AROUND_FORK {
  if (!locked) return false;
  this_thread.forking = locked = false;
  heap.unlock_all();
  for (size_t i = std::size(kParts); i-- > 0;) {
    const Part& part = *kParts[i];
    if (part.unlock != nullptr) part.unlock();
    for (size_t n = std::size(part.mutexes); n-- > 0;) {
      if (part.mutexes[n] != nullptr) part.mutexes[n]->unlock();
    }
  }
  start_mutex.unlock();
  return true;
}

EVERY_PROCESS void after_fork_in_parent() {
  if (unlock_after_fork() && _IO_list_unlock != nullptr) _IO_list_unlock();
}

EVERY_PROCESS void after_fork_in_child() {
  unlock_after_fork();  // fork made the lock on all FILEs anew
  forks.fetch_add(1, std::memory_order_relaxed);
  forked_ms = clock_ms();
  process = getpid();
  heap.forget_other_threads(this_thread.cache, this_thread.release_cache);
  each_part(&Part::forked);
}

[[noreturn]] void on_misuse(Misuse misuse, uintptr_t pointer, size_t object_bytes) {
  aborting = true;
  const auto* const p = reinterpret_cast<const void*>(pointer);
  const char* const hint =
      misuse == Misuse::kFreedAgain
          ? ""
          : "; an earlier call may be at fault: `pktmalloc run --checked` finds it";
  const uintptr_t object = heap.object_at(heap.class_of(p), p);
  if (misuse != Misuse::kNotAnObject) {
    message("double free of %p, an object of up to %zu bytes%s", p, object_bytes, hint);
  } else if (object != 0) {
    message("free of %p, %zu bytes inside an object of up to %zu bytes%s", p, pointer - object,
            heap.bytes_of(heap.class_of(p), reinterpret_cast<void*>(object)), hint);
  } else {
    message("free of %p, which malloc never returned%s", p, hint);
  }
  abort();
}

// MemoryLimit::kNone if there is none, or, after one line, if it is a share of a total that is not
// known.
uint64_t limit_in_bytes(const char* name, const MemoryShare& share) {
  if (share.percent == 0) return share.bytes != 0 ? share.bytes : MemoryLimit::kNone;
  const uint64_t total = total_memory();
  if (total != ~uint64_t{0}) return total / 100 * share.percent;
  message("%s: the system does not tell how much memory there is; there is no limit", name);
  return MemoryLimit::kNone;
}

void start_process() {
  const Lock lock(start_mutex);
  if (started.load(std::memory_order_relaxed)) return;
  read_options();
  // What stands in for it (libfaketime) may allocate.
  if (const auto own = find_in_libc<decltype(read_clock)>("clock_gettime")) read_clock = own;
  misuse_handler = on_misuse;
  process = getpid();
  HeapConfig config;
  config.interval_ms = options().age_ms;
  config.limit = limit_in_bytes("PKTMALLOC_LIMIT", options().limit);
  config.soft_limit = limit_in_bytes("PKTMALLOC_SOFT_LIMIT", options().soft_limit);
  config.huge_pages = options().huge_pages;
  const LibraryNames& names = names_of(kThisLibrary);
  config.state_bytes = names.state_bytes;
  if (PKTMALLOC_HARDENED) config.shuffle_seed = random_number() | 1;
  config.sizes = options().class_sizes;
  config.sizes_count = options().class_count;
  if (options().next_path != nullptr) config.most_block = 0;  // it was asked for large ones
  config.zeroes = PKTMALLOC_HARDENED;
  // Alignments take a page.
  const bool looks_beside = PKTMALLOC_CHECKED || (PKTMALLOC_HARDENED && options().canary);
  if (looks_beside) config.beside = config.sizes_count > 0 ? names.canaries : memory::page_bytes();
  // The twins protect what they pool, even where that takes more of a small limit of data.
  constexpr size_t kFew = Heap::kFewAddresses;
  const size_t few = kThisLibrary == LibraryKind::kNormal ? at_most(kFew, RLIMIT_DATA, 1) : kFew;
  if (at_most(few, RLIMIT_AS, 1) == kFew) heap.start(config);
  each_part(&Part::start);
  // From here on our slabs serve what libc allocates. The handlers come before we say that we have
  // started: no thread can use a heap that a fork would not lock. Nor do they go when the process
  // exits, while another thread may be amid a fork, whose locks nobody would release.
  __register_atfork(before_fork, after_fork_in_parent, after_fork_in_child, nullptr);
  pthread_key_create(&exit_key, on_thread_exit);
  started.store(true, std::memory_order_release);
}

// Before other constructors if the loader lets us choose, so that dlsym runs while the process has
// one thread and no other thread holds a lock of the loader.
__attribute__((constructor(101))) void on_load() {
  const KeepErrno keep;  // a program finds 0 at its start
  cache_of_this_thread();
  read_options();  // if the first request came before libc knew the environment
  OwnThread::allow();
  each_part(&Part::load);
  if (!options().children) leave_environment();
}

__attribute__((destructor)) void on_exit() {
  // The child of a clone has no reporter, but perhaps its locks.
  if (aborting || (options().stats_interval_ms != 0 && !in_own_memory())) return;
  each_part_back(&Part::exit);
  // The system would copy page after page for a child of fork, and a young one has hardly anything
  // there but what its parent left.
  if (fork_count() != 0 && clock_ms() - forked_ms < 250) return;
  // A handler that allocates would wait for a lock whose holder it interrupts. So it does as those
  // of fork do; to hold signals back takes calls that a sandbox may not allow.
  const Raised outside(this_thread.forking);
  heap.end(this_thread.cache, this_thread.release_cache);
}

void divert(void* p) {
  Thread& thread = *static_cast<Thread*>(p);
  // Each is one word, which its thread reads once a call.
  std::atomic_ref(thread.allocates_from).store(kNoCache, std::memory_order_relaxed);
  std::atomic_ref(thread.releases_to).store(kNoCache, std::memory_order_relaxed);
}

}  // namespace

constinit Mutex threads_mutex{part_rank(PartId::threads)};
constinit const Part threads_part{.mutexes = {&threads_mutex}};

Cache* enter_thread() {
  this_thread.direct = true;  // for what the following calls allocate
  if (!started.load(std::memory_order_acquire)) start_process();
  Cache* cache = heap.attach(&this_thread);
  // pthread_setspecific may allocate; without the key this thread's magazines would be lost with
  // it.
  if (cache != nullptr && pthread_setspecific(exit_key, cache) != 0) {
    heap.detach(cache);
    cache = nullptr;
  }
  this_thread.cache = cache;
  if (cache != nullptr) each_part(&Part::thread_start);
  // If there is no memory for a cache, this call works without; the next one tries again.
  this_thread.direct = !heap.started();
  publish(cache);
  return cache;
}

// libc frees a detached thread's table of thread-local blocks in that thread, at its very end, and
// those of other threads whose stacks it has kept too long. By then signals are blocked, even the
// first one beyond the standard ones, which is libc's own and which no program can block.
bool past_destructors() {
  sigset_t blocked{};
  change_signal_mask(SIG_BLOCK, nullptr, &blocked);
  return sigismember(&blocked, __SIGRTMIN) == 1;
}

void begin_observation() {
  observers.fetch_add(1, std::memory_order_release);
  publish(this_thread.cache);
}

void end_observation() { observers.fetch_sub(1, std::memory_order_relaxed); }

// Twice, because a slow call that was under way the first time sets its thread's pointers again.
void divert_next_calls() {
  heap.each_thread(divert);
  sleep_us(1000);
  heap.each_thread(divert);
}

bool let_waiting_go(size_t bytes) {
  bool gone = false;
  for (size_t i = std::size(kParts); i-- > 0;) {
    if (const auto refused = kParts[i]->refused) gone |= refused(bytes);
  }
  return gone;
}

EVERY_PROCESS pid_t process_id() { return process; }
bool in_own_memory() { return getpid() == process; }

EVERY_PROCESS const std::atomic<uint64_t>& fork_count() { return forks; }

}  // namespace pktmalloc
