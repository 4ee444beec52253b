// SPDX-License-Identifier: MIT
// Caches: a list of all caches ever made, and of those without a thread. None is ever given back.
// All but start() run under mutex.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/growing_memory.h"
#include "sizeclass/base/mutex.h"
#include "sizeclass/heap/cache.h"

namespace pktmalloc {

class Caches {
 public:
  static constexpr size_t kStep = size_t{256} << 10;  // 48 threads

  // The first step is mapped.
  void start(uintptr_t begin, size_t most, bool huge_pages) NOT_FOLLOWED {
    mutex.set_rank(LockRank::kCaches);
    memory_.start(begin, most, huge_pages, kStep);
  }

  uintptr_t begin() const NOT_FOLLOWED { return memory_.begin(); }
  Mutex mutex;

  // A cache without a thread. nullptr: no memory.
  Cache* take() UNDER(mutex) {
    Cache*& list = kept_ != nullptr ? kept_ : free_;
    if (list == nullptr && !make()) return nullptr;
    if (&list == &kept_) --kept_count_;
    return std::exchange(list, list->next_free);
  }
  // `keeps`: some of what its thread had, for the next one.
  void give(Cache* cache, bool keeps = false) UNDER(mutex) {
    Cache*& list = keeps ? kept_ : free_;
    if (keeps) kept_count_ += 1;
    cache->next_free = std::exchange(list, cache);
  }
  bool none_waits() const UNDER(mutex) { return kept_ == nullptr && free_ == nullptr; }

  // May one more keep something? Any thread asks, without the lock.
  bool lets_keep() const { return kept_count_.seen() < kMostKept; }
  // Drains one class of those that do, which made no trip for so many ticks. False: there is none.
  bool flush(const Supply& supply, uint32_t tick = 0, uint32_t ticks = 0) {
    const Lock lock(mutex);
    for (Cache* cache = kept_; cache != nullptr; cache = cache->next_free) {
      cache->visits.tick = tick;
      if (cache->flush_idle(supply, ticks, kNoClass)) return true;
    }
    return false;
  }

  // All caches, one a call, again and again. nullptr: there is none.
  Cache* walk() UNDER(mutex) {
    Cache* const cache = walked_ != nullptr ? walked_ : first_;
    if (cache != nullptr) walked_ = cache->next;
    return cache;
  }
  void walk_from(Cache* cache) UNDER(mutex) { walked_ = cache; }
  unsigned count() const UNDER(mutex) { return made_; }

  // The words, also for a reader outside the process.
  Cache* const& first() const NOT_FOLLOWED { return first_; }
  const Owned<size_t>& committed_bytes() const NOT_FOLLOWED { return memory_.bytes(); }

 private:
  static constexpr unsigned kMostKept = 16;

  bool make() UNDER(mutex) {
    const size_t begin = made_ * sizeof(Cache), end = begin + sizeof(Cache);
    if (!memory_.grow_to(round_up(end, kStep))) return false;
    Cache* const cache = new (memory_.at(begin)) Cache;
    cache->home = static_cast<uint8_t>(made_ % ShardedStack::kShards);
    ++made_;
    cache->next = first_;
    first_ = cache;
    give(cache);
    return true;
  }

  GrowingMemory memory_ GUARDED_BY(mutex);
  Cache* first_ GUARDED_BY(mutex) = nullptr;
  Cache* free_ GUARDED_BY(mutex) = nullptr;
  Cache* kept_ GUARDED_BY(mutex) = nullptr;
  Owned<unsigned> kept_count_ = 0;
  Cache* walked_ GUARDED_BY(mutex) = nullptr;  // the next one
  unsigned made_ GUARDED_BY(mutex) = 0;
};

}  // namespace pktmalloc
