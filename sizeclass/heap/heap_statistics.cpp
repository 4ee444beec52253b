// SPDX-License-Identifier: MIT
#include "sizeclass/heap/heap.h"

namespace pktmalloc {

uint64_t Heap::resident_bytes(bool with_blocks) {
  return outside_bytes() + (started_ ? pool_.resident_bytes(with_blocks) : 0);
}

uint64_t Heap::outside_bytes() const {
  uint64_t bytes = 0;
  for (const ClassId id : classes_.ids()) {
    bytes += outside_[index(id)].load(std::memory_order_relaxed) * classes_[id].object_bytes;
  }
  return bytes;
}

size_t Heap::mapped_bytes() {
  return pool_.counts().mapped + magazine_pool_.counts().mapped + states_.committed_bytes() +
         caches_.committed_bytes().seen();
}

void Heap::statistics(HeapStatistics& out) {
  out = HeapStatistics{};
  std::copy_n(tallies_, kTallies, out.tallies);
  if (!started_) return;
  out.classes = classes_.count();
  const Lock ageing_lock(ageing_.mutex);
  const Lock caches_lock(caches_.mutex);
  for (const ClassId id : classes_.ids()) {
    const unsigned i = index(id);
    CacheStatistics sum{};
    sum.allocated = direct_allocs_[i].load(std::memory_order_relaxed);
    for (const Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
      sum = cache->statistics(id, sum);
    }
    const SlabArea area = supply_->area(id);
    const AreaStatistics counts = area.statistics();
    const Lock pool_lock(pool_.mutex);
    out.of[i - 1] =
        class_statistics(classes_[id].object_bytes, area.slab_bytes(), counts, pool_.share(id), sum,
                         ageing_.aged(id), outside_[i].load(std::memory_order_relaxed));
  }
  {
    const SlabPool::Counts& counts = pool_.counts();
    const Lock pool_lock(pool_.mutex);
    out.blocks = block_statistics(counts.blocks_taken, counts.blocks_given, counts.block_bytes,
                                  pool_.share(kNoClass));
  }
  for (const Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
    for (unsigned i = 0; i < kTallies; ++i) out.tallies[i] += cache->tallied(i);
  }
  out.metadata_bytes = pool_.counts().bookkeeping + magazine_pool_.counts().bookkeeping +
                       magazine_pool_.counts().open + states_.committed_bytes() +
                       caches_.committed_bytes();
  out.reserved_bytes = mapped_bytes();
  out.waiting_bytes = ageing_.waiting_bytes();
  out.threads_seen = threads_seen_;
  out.threads_alive = threads_alive();
  out.use(limit_.counts());
}

// Of arrays by class it names the first class's element.
HeapWindow Heap::window() {
  const auto address = [](const void* p) { return reinterpret_cast<uint64_t>(p); };
  HeapWindow w{};
  w.classes = classes_.count();
  for (const ClassId id : classes_.ids()) {
    const unsigned i = index(id);
    w.object_bytes[i - 1] = classes_[id].object_bytes;
    w.slab_bytes[i - 1] = supply_->area(id).slab_bytes();
    w.areas[i - 1] = address(&supply_->area(id).counts());
    w.shares[i - 1] = address(&pool_.share(id));
    if (pool_.has_states()) w.states[i - 1] = states_.place(id).words;
  }
  w.units = pool_.start_of(pool_.first_unit());
  w.block_share = address(&pool_.share(kNoClass));
  w.pool = address(&pool_.counts());
  w.magazine_pool = address(&magazine_pool_.counts());
  w.states_bytes = address(&states_.committed_bytes());
  w.caches = address(&caches_.first());
  w.direct_allocs = address(&direct_allocs_[1]);
  w.aged = address(ageing_.aged_counts() + 1);
  w.outside = address(&outside_[1]);
  w.cache_committed_bytes = address(&caches_.committed_bytes());
  w.waiting_bytes = address(&ageing_.waiting_count());
  w.threads_seen = address(&threads_seen_);
  w.threads_alive = address(&threads_alive_);
  w.limit = address(&limit_.counts());
  w.caller = due_.caller();
  w.map = pool_.base();
  w.records = address(pool_.chapters());
  w.chapter_bytes = pool_.words_stride();
  w.magazines = magazine_pool_.base();
  w.magazine_units = magazine_pool_.start_of(magazine_pool_.first_unit());
  w.depots = address(&depot_.stack(static_cast<ClassId>(1)));
  w.mails = address(depot_.mails());
  w.ageing = address(&ageing_.mutex);
  return w;
}

}  // namespace pktmalloc
