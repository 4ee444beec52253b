// SPDX-License-Identifier: MIT
// Thread: what the library knows of the calling thread. Constant-initialised, without destructor,
// reached by one register-relative load (initial-exec), so it works before any constructor and
// after any destructor.
//
// `allocates_from` and `releases_to` are the caches that malloc and free look at. Both are the
// thread's own cache in normal running, and the null cache, whose every class sends the call to the
// slow path, when the thread has not started or has ended; allocates_from also while the thread's
// allocations are to be seen (Ageing), both while every call is (observer.h). The slow path uses
// `cache` and sets both anew before it returns.
#pragma once

#include "preload/process/heap.h"
#include "sizeclass/cache.h"

namespace pktmalloc {

struct Sampler;

struct Thread {
  Cache* allocates_from;
  Cache* releases_to;
  Cache* cache;
  Cache* release_cache;  // while sampling, the one it releases into
  Sampler* sampler;      // while sampling
  bool sampled;          // the allocation under way is a sample
  bool direct;           // starting, ended, or there is no heap: works on the slabs directly
  bool forking;          // between our fork handlers: holds every lock, must not enter the heap
  void* set_aside;       // objects freed meanwhile, chained through their first word
};

extern constinit thread_local Thread this_thread __attribute__((visibility("hidden")));

// Every call of the program is to be seen (observer.h): no thread may serve one by itself.
extern bool observing __attribute__((visibility("hidden")));

// Starts the process if nobody has (process.h), and gives the calling thread a cache; nullptr when
// it must work on the slabs directly.
Cache* enter_thread();

// Has the calling thread, which has no cache, run its destructors? Nobody would give back one that
// was made for it now.
bool past_destructors();

// The calling thread's cache, which is made at its first call; nullptr: work without.
inline Cache* cache_of_this_thread() {
  if (this_thread.cache != nullptr || this_thread.direct) [[likely]]
    return this_thread.cache;
  return enter_thread();
}

// The same for a release, which makes none behind the thread's destructors.
inline Cache* cache_to_release_into() {
  if (this_thread.cache != nullptr || this_thread.direct) [[likely]]
    return this_thread.cache;
  return past_destructors() ? nullptr : enter_thread();
}

inline void publish(Cache* cache) {
  Cache* const none = const_cast<Cache*>(&kNullCache);
  if (observing) cache = nullptr;
  Cache* const releasing = this_thread.release_cache;
  this_thread.releases_to = cache == nullptr ? none : releasing != nullptr ? releasing : cache;
  this_thread.allocates_from = cache != nullptr && !cache->visits.watched ? cache : none;
}

}  // namespace pktmalloc
