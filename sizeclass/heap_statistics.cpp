// SPDX-License-Identifier: MIT
#include <sched.h>

#include "sizeclass/heap.h"

namespace pktmalloc {

uint64_t Heap::resident_bytes() {
  uint64_t bytes = outside_bytes();
  for (unsigned i = 0; i < classes_.count() && started_; ++i) bytes += areas_[i].resident_bytes();
  return bytes;
}

uint64_t Heap::outside_bytes() const {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < classes_.count(); ++i) {
    bytes += outside_[i].load(std::memory_order_relaxed) *
             classes_[static_cast<ClassId>(i)].object_bytes;
  }
  return bytes;
}

bool Heap::can_lock() {
  if (!started_) return true;
  const auto can = [](Mutex& mutex) AROUND_FORK {
    for (unsigned tries = 0; !mutex.try_lock(); ++tries) {
      if (tries == 1000) return false;
      sched_yield();
    }
    mutex.unlock();
    return true;
  };
  bool all = can(ageing_.mutex()) && can(caches_.mutex());
  for (unsigned i = 0; i < classes_.count(); ++i) all = all && can(areas_[i].mutex());
  for (unsigned i = 0; i < kMagazineSizes; ++i) all = all && can(store_.area(i).mutex());
  return all;
}

void Heap::statistics(HeapStatistics& out) {
  out = HeapStatistics{};
  if (!started_) return;
  out.classes = classes_.count();
  uint64_t committed = 0;
  const Lock ageing_lock(ageing_.mutex());
  const Lock caches_lock(caches_.mutex());
  for (unsigned i = 0; i < classes_.count(); ++i) {
    const ClassId id = static_cast<ClassId>(i);
    const AreaStatistics area = areas_[i].statistics();
    CacheStatistics sum{};
    sum.allocated = direct_allocs_[i].load(std::memory_order_relaxed);
    for (const Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
      sum += cache->statistics(id);
    }
    out.of[i] = class_statistics(classes_[id].object_bytes, areas_[i].slab_bytes(), area, sum,
                                 ageing_.aged(id), outside_[i].load(std::memory_order_relaxed));
    out.metadata_bytes += area.record_bytes;
    committed += usable_bytes(area, areas_[i].slab_bytes());
  }
  for (const Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
    for (unsigned i = 0; i < kTallies; ++i) out.tallies[i] += cache->tallied(i);
  }
  for (unsigned i = 0; i < kMagazineSizes; ++i) {
    const AreaStatistics area = store_.area(i).statistics();
    out.metadata_bytes += area.record_bytes + usable_bytes(area, store_.area(i).slab_bytes());
  }
  out.metadata_bytes +=
      states_.committed_bytes() + early_committed_bytes_ + caches_.committed_bytes();
  out.area_bytes = area_bytes();
  out.reserved_bytes = quick_bytes_ > 0 ? reserved_bytes() : committed + out.metadata_bytes;
  out.waiting_bytes = ageing_.waiting_bytes();
  out.threads_seen = threads_seen_;
  out.threads_alive = threads_alive();
  out.use(limit_.counts());
}

HeapWindow Heap::window() const {
  const auto address = [](const void* p) { return reinterpret_cast<uint64_t>(p); };
  HeapWindow w{};
  w.classes = classes_.count();
  for (unsigned i = 0; i < classes_.count(); ++i) {
    w.object_bytes[i] = classes_[static_cast<ClassId>(i)].object_bytes;
    w.slab_bytes[i] = areas_[i].slab_bytes();
    const AreaPlace& place = areas_[i].place();
    w.first_slab[i] = place.start_of(0);
    w.piece_bytes[i] = place.piece_end(0) * w.slab_bytes[i];
    w.areas[i] = address(&areas_[i].counts());
  }
  for (unsigned i = 0; i < kMagazineSizes; ++i) {
    w.magazine_areas[i] = address(&store_.area(i).counts());
  }
  w.magazine_slab_bytes = store_.area(0).slab_bytes();
  w.stripe_bytes = uint64_t{kMaxClasses} << piece_shift_;
  w.area_bytes = area_bytes();
  w.reserved_bytes = reserved_bytes();
  w.early_bytes = early_committed_bytes_;
  w.caches = address(&caches_.first());
  w.cache_bytes = sizeof(Cache);
  w.cache = Cache::shape();
  w.magazine_rounds = offsetof(Magazine, rounds);
  w.magazine_slots = sizeof(Magazine);
  w.direct_allocs = address(direct_allocs_);
  w.aged = address(ageing_.aged_counts());
  w.outside = address(outside_);
  w.cache_committed_bytes = address(&caches_.committed_bytes());
  w.waiting_bytes = address(&ageing_.waiting_count());
  w.threads_seen = address(&threads_seen_);
  w.threads_alive = address(&threads_alive_);
  w.limit = address(&limit_.counts());
  return w;
}

}  // namespace pktmalloc
