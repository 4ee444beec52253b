// SPDX-License-Identifier: MIT
#include "sizeclass/heap/caches.h"

#include <algorithm>
#include <new>

#include "sizeclass/base/rounding.h"

namespace pktmalloc {

bool Caches::make() {
  const size_t begin = made_ * sizeof(Cache), end = begin + sizeof(Cache);
  // Steps of 256 KiB: 48 threads.
  const size_t step = std::min(round_up(end, size_t{256} << 10), memory_.most());
  if (end > step || !memory_.grow_to(step)) return false;
  Cache* const cache = new (memory_.at(begin)) Cache;
  cache->home = static_cast<uint8_t>(made_ % ShardedStack::kShards);
  ++made_;
  cache->next = first_;
  first_ = cache;
  give(cache);
  return true;
}

Cache* Caches::take() {
  if (free_ == nullptr && !make()) return nullptr;
  Cache* const cache = free_;
  free_ = cache->next_free;
  return cache;
}

void Caches::give(Cache* cache) {
  cache->next_free = free_;
  free_ = cache;
}

}  // namespace pktmalloc
