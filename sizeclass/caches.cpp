// SPDX-License-Identifier: MIT
#include "sizeclass/caches.h"

#include <algorithm>
#include <new>

#include "sizeclass/rounding.h"

namespace pktmalloc {

bool Caches::make(bool (*commit)(void* start, size_t bytes)) {
  const size_t end = (made_ + size_t{1}) * sizeof(Cache);
  if (end > committed_bytes_) {
    // Steps of 256 KiB: 48 threads.
    const size_t target = std::min(round_up(end, size_t{256} << 10), region_bytes_);
    if (end > target || !commit(region_ + committed_bytes_, target - committed_bytes_)) {
      return false;
    }
    committed_bytes_ = target;
  }
  Cache* const cache = new (region_ + made_ * sizeof(Cache)) Cache;
  cache->home = static_cast<uint8_t>(made_ % ShardedStack::kShards);
  ++made_;
  cache->next = first_;
  first_ = cache;
  give(cache);
  return true;
}

Cache* Caches::take(bool (*commit)(void* start, size_t bytes)) {
  if (free_ == nullptr && !make(commit)) return nullptr;
  Cache* const cache = free_;
  free_ = cache->next_free;
  return cache;
}

void Caches::give(Cache* cache) {
  cache->next_free = free_;
  free_ = cache;
}

}  // namespace pktmalloc
