// SPDX-License-Identifier: MIT
// Thread: what the library knows about the calling thread. Constant-initialised, without
// destructor, reached by one register-relative load (initial-exec), so it works before any
// constructor and after any destructor.
//
// malloc and free use the caches `allocates_from` and `releases_to`. Normally both are the thread's
// own cache. Both are the null cache, which sends every call to the slow path, before the thread
// has started, after it has ended, and while every call must be seen (is_observed); allocates_from
// also while the thread's allocations must be seen (Ageing). The slow path uses `cache` and sets
// both again before it returns. With control others, too, may set both to the null cache
// (divert_next_calls). All caches are of the process's one heap, which stands here, too.
#pragma once

#include <atomic>

#include "sizeclass/heap/heap.h"

namespace pktmalloc {

// Hidden: otherwise every access would use the global offset table.
inline constinit Heap heap __attribute__((visibility("hidden")));

struct Sampler;

// Nobody writes to it: its lists take and give nothing.
inline constexpr Cache* kNoCache = const_cast<Cache*>(&kNullCache);

struct Thread {
  Cache* allocates_from = kNoCache;
  Cache* releases_to = kNoCache;
  Cache* cache = nullptr;
  Cache* release_cache = nullptr;  // while sampling, the one it releases into
  Sampler* sampler = nullptr;      // while sampling
  bool sampled = false;            // the allocation under way is a sample
  bool direct = false;             // starting, ended, or no heap: works on the slabs directly
  bool forking = false;  // must not enter the heap: between our fork handlers, where it holds every
                         // lock, or while the heap ends
  void* set_aside = nullptr;  // objects freed meanwhile, chained through their first word
};

inline constinit thread_local Thread this_thread __attribute__((visibility("hidden")));

// Every call of the program must be seen (recording/observer.h): no thread may serve one by itself.
inline constinit std::atomic<unsigned> observers __attribute__((visibility("hidden"))) = 0;
inline bool is_observed() { return observers.load(std::memory_order_relaxed) != 0; }
// One observer more needs to see all calls: at load, before the program has a second thread, or
// while the program runs, if divert_next_calls() follows. Or one less, which may be told some all
// the same. One thread at a time.
void begin_observation();
void end_observation();

// Does realloc resize an object of the class in place? Yes if the request fills half of it,
// or would get the same class again; but not where every call must be seen.
inline bool resizes_in_place(ClassId id, size_t bytes) {
  const ClassTable& classes = heap.classes();
  const size_t most = classes[id].object_bytes;
  return bytes <= most && (bytes * 2 >= most || classes.find(bytes) == id) && !is_observed();
}

// Starts the process if nobody has (process.h), and gives the calling thread a cache; nullptr when
// it must work on the slabs directly.
Cache* enter_thread();

// Has the calling thread, which has no cache, run its destructors? Then nobody would give back a
// cache made for it now.
bool past_destructors();

// The calling thread's cache, made at its first call; nullptr: work without. A release makes none
// after the thread's destructors.
inline Cache* cache_of_this_thread(bool releases = false) {
  if (this_thread.cache != nullptr || this_thread.direct) [[likely]]
    return this_thread.cache;
  return releases && past_destructors() ? nullptr : enter_thread();
}

inline void publish(Cache* cache) {
  if (is_observed()) cache = nullptr;
  Cache* const releasing = this_thread.release_cache;
  this_thread.releases_to = cache == nullptr ? kNoCache : releasing != nullptr ? releasing : cache;
  this_thread.allocates_from = cache != nullptr && !cache->visits.watched ? cache : kNoCache;
}

// The next allocation and the next release of each thread take the slow path, which sets the
// thread's pointers anew. Waits 1 ms; a thread that spends all of it inside of one slow call may do
// without. Any thread.
void divert_next_calls();

// Who holds it knows that no fork is under way, with PKTMALLOC_CONTROL.
extern Mutex threads_mutex;

}  // namespace pktmalloc
