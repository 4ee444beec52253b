// SPDX-License-Identifier: MIT
#include "sizeclass/heap.h"

#include <algorithm>

#include "sizeclass/clock.h"
#include "sizeclass/memory.h"
#include "sizeclass/misuse.h"
#include "sizeclass/rounding.h"
#include "sizeclass/stripes.h"

namespace pktmalloc {
namespace {

// Their base is not known yet.
Stripes stripes(const HeapConfig& config, unsigned area_shift, unsigned areas_shift) {
  const unsigned piece_shift = std::min(config.piece_shift, area_shift);
  return {0, piece_shift, areas_shift, uint32_t{1} << (area_shift - piece_shift)};
}

}  // namespace

bool Heap::start(const HeapConfig& config) {
  if (config.sizes != nullptr) {
    classes_.use_list(config.sizes, config.sizes_count, config.slab_shift);
  } else {
    classes_.use_default(config.slab_shift);
  }
  limit_.set(config.limit, config.soft_limit);
  ageing_.start(config.interval_ms, limit_);
  shuffle_seed_ = config.shuffle_seed;
  for (unsigned shift = config.area_shift; shift >= config.least_area_shift; --shift) {
    if (reserve(config, shift)) return started_ = true;
  }
  classes_.use_list(nullptr, 0, config.slab_shift);
  return false;
}

// One reservation for the areas and one for all bookkeeping, where | is a guard, a page that is
// never committed:
//     | early slab records (committed) | caches | late slab records | magazine areas |
// In both, committed memory begins and ends at a guard or at uncommitted pages: a write past the
// end of another mapping does not reach the bookkeeping, and a write past the bookkeeping does not
// reach the objects.
bool Heap::reserve(const HeapConfig& config, unsigned area_shift) {
  const size_t page = memory::page_bytes();
  Stripes objects = stripes(config, area_shift, kClassBits);
  // Where addresses are few, a magazine size gets half as many as a class.
  Stripes magazines =
      stripes(config, std::min(area_shift - 1, kMagazineAreaShiftMost), MagazineStore::kAreasShift);
  size_t early = MagazineStore::early_bytes(config.slab_shift);
  size_t late = MagazineStore::late_bytes(magazines, config.slab_shift);
  // Second-level pages of page tables begin at each GiB.
  size_t alignment = size_t{1} << std::min(objects.stripe_shift(), 30U);
  for (unsigned i = 0; i < classes_.count(); ++i) {
    const SizeClass& c = classes_[static_cast<ClassId>(i)];
    early += SlabArea::early_bytes(c);
    late += SlabArea::late_bytes(c, objects.place(i, c.slab_shift, c.alignment()).slabs());
    alignment = std::max(alignment, size_t{1} << c.slab_shift);
  }
  early = round_up(early, page);
  const size_t caches = round_up(std::min(kCacheRegionMost, objects.area_bytes() / 2), page);
  const size_t guard = page;
  const size_t front = round_up(early + caches + late + 4 * guard, size_t{1} << config.slab_shift);
  const size_t bookkeeping = front + magazines.bytes() + guard;
  const size_t states =
      config.states ? ObjectStates::bytes_for(objects.bytes(), objects.piece_shift) : 0;
  if (objects.bytes() + states + bookkeeping > config.address_limit) return false;

  void* const start = memory::reserve(objects.bytes(), std::max(alignment, page));
  if (start == nullptr) return false;
  bookkeeping_ = memory::reserve(bookkeeping, std::max(size_t{1} << config.slab_shift, page));
  objects.base = reinterpret_cast<uintptr_t>(start);
  if (bookkeeping_ == nullptr || !memory::commit(static_cast<char*>(bookkeeping_) + guard, early) ||
      (config.states &&
       !states_.reserve(objects.base, objects.bytes(), objects.piece_shift, classes_))) {
    memory::release(start, objects.bytes());
    if (bookkeeping_ != nullptr) memory::release(bookkeeping_, bookkeeping);
    return false;
  }

  if (config.huge_pages == HugePages::kNever) {
    memory::ask_for_huge_pages(bookkeeping_, bookkeeping, false);
    if (states > 0)
      memory::ask_for_huge_pages(reinterpret_cast<void*>(states_.begin()), states, false);
  }
  bookkeeping_bytes_ = bookkeeping;
  early_committed_bytes_ = early;
  char* early_at = static_cast<char*>(bookkeeping_) + guard;
  char* const cache_region = early_at + early + guard;
  caches_.start(cache_region, caches);
  char* late_at = cache_region + caches + guard;
  magazines.base = reinterpret_cast<uintptr_t>(bookkeeping_) + front;
  // As in MagazineStore::start: id 0 is no magazine.
  depot_.start(magazines.base - kMagazineGranule);
  store_.start(magazines, config.slab_shift, early_at, late_at);
  early_at += MagazineStore::early_bytes(config.slab_shift);
  late_at += MagazineStore::late_bytes(magazines, config.slab_shift);
  for (unsigned i = 0; i < kMagazineSizes; ++i) {
    store_.area(i).set_growth(ageing_.growth());
    store_.area(i).set_limit(limit_);
    store_.area(i).set_huge_pages(config.huge_pages);
  }
  for (unsigned i = 0; i < classes_.count(); ++i) {
    const SizeClass& c = classes_[static_cast<ClassId>(i)];
    const AreaPlace place = objects.place(i, c.slab_shift, c.alignment());
    areas_[i].start(c, LockRank::kArea + i, place, early_at, late_at);
    areas_[i].set_growth(ageing_.growth());
    areas_[i].set_limit(limit_);
    areas_[i].set_huge_pages(config.huge_pages);
    if (config.states) areas_[i].set_states(states_);
    early_at += SlabArea::early_bytes(c);
    late_at += SlabArea::late_bytes(c, place.slabs());
  }
  piece_shift_ = objects.piece_shift;
  quick_bytes_ = bytes_ = objects.bytes();
  base_ = objects.base;
  return true;
}

void Heap::stop() {
  if (!started_) return;
  if (quick_bytes_ > 0) {  // else some of what lies there is not ours
    memory::release(reinterpret_cast<void*>(base_), bytes_);
    memory::release(bookkeeping_, bookkeeping_bytes_);
    states_.release();
  }
  quick_bytes_ = bytes_ = 0;
  started_ = false;
}

// Has the cache's thread ended without detach()? Then the cache waits for another one.
bool Heap::inherit(Cache& cache) {
  if (!cache.holder.has_ended()) return false;
  if (cache.counts) threads_alive_.fetch_sub(1, std::memory_order_relaxed);
  cache.counts = false;
  if (cache.recover()) caches_.give(&cache);
  return true;
}

// The next call begins at the thread that this one found: usually it still runs.
bool Heap::has_threads() {
  const Lock lock(caches_.mutex());
  Cache* const first = caches_.walk();
  for (Cache* cache = first; cache != nullptr;) {
    if (cache->counts && cache->holder.thread() != nullptr && !inherit(*cache)) {
      caches_.walk_from(cache);
      return true;
    }
    cache = caches_.walk();
    if (cache == first) break;
  }
  return threads_alive() > 0;
}

Cache* Heap::take_cache(void* thread) {
  // A few looks a thread find the ended ones in time, and cost the same however many threads live.
  constexpr int kLooks = 8;
  for (int i = 0; i < kLooks && caches_.none_waits(); ++i) {
    if (Cache* const cache = caches_.walk()) inherit(*cache);
  }
  Cache* cache = caches_.take(quick_bytes_ > 0 ? memory::commit : memory::map);
  if (cache == nullptr) return nullptr;
  cache->holder.enter(thread);
  cache->set_near(quick_bytes_ > 0 ? (uint64_t{1} << piece_shift_) - 1 : 0);
  cache->visits = Cache::Visits{};
  cache->visits.last_ms = clock_ms();
  if (shuffle_seed_ != 0) cache->shuffle(shuffle_seed_ += 2 * sizeof(Cache));
  cache->visits.tick = ageing_.tick();  // else its first trip would look idle since the start
  return cache;
}

Cache* Heap::attach(void* thread) {
  if (!started_) return nullptr;
  const Lock lock(caches_.mutex());
  Cache* const cache = take_cache(thread);
  if (cache == nullptr) return nullptr;
  cache->counts = true;
  ++threads_seen_;
  threads_alive_.fetch_add(1, std::memory_order_relaxed);
  return cache;
}

Cache* Heap::attach_second(void* thread) {
  const Lock lock(caches_.mutex());
  return take_cache(thread);
}

void Heap::detach(Cache* cache) {
  cache->counts = false;
  detach_second(cache);
  threads_alive_.fetch_sub(1, std::memory_order_relaxed);
}

void Heap::detach_second(Cache* cache) {
  cache->flush(supply_);
  ageing_.notice();
  const Lock lock(caches_.mutex());
  cache->holder.leave();
  caches_.give(cache);
}

void* Heap::allocate(Cache* cache, ClassId id) {
  if (cache != nullptr) {
    void* object = cache->allocate(id);
    if (object == nullptr) object = cache->allocate_slow(supply_, id);
    if (cache->tripped || cache->visits.watched) {
      const auto why = cache->tripped ? Ageing::Visit::kTake : Ageing::Visit::kWatched;
      cache->tripped = false;
      ageing_.visit(supply_, *cache, id, why);
    }
    if (object != nullptr) return object;
  }
  uintptr_t object = 0;
  if (areas_[index(id)].fill(&object, 1) == 0) return nullptr;
  direct_allocs_[index(id)].fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<void*>(object);
}

void Heap::release(Cache* cache, ClassId id, void* object) {
  // An address in the reservation, but in no class of this table.
  if (index(id) >= classes_.count()) {
    report_misuse(Misuse::kNotAnObject, reinterpret_cast<uintptr_t>(object), 0);
  }
  if (cache == nullptr) {
    const uintptr_t only = reinterpret_cast<uintptr_t>(object);
    areas_[index(id)].drain(&only, 1);
    return;
  }
  if (cache->release(id, object)) return;
  cache->release_slow(supply_, id, object);
  if (!cache->tripped) return;
  cache->tripped = false;
  ageing_.visit(supply_, *cache, id, Ageing::Visit::kGive);
}

uint64_t Heap::trim(Cache* cache, Cache* second) {
  if (!started_) return 0;
  if (cache != nullptr) cache->flush(supply_);
  if (second != nullptr) second->flush(supply_);
  return ageing_.trim(supply_);
}

// The depots are frozen as well: the system copies a forking process page by page while its other
// threads run, so a stack that changes meanwhile could show the child one magazine twice.
void Heap::lock_all() {
  if (!started_) return;  // nobody is inside, and the areas' locks have no rank yet
  ageing_.mutex().lock();
  caches_.mutex().lock();
  for (unsigned i = 0; i < classes_.count(); ++i) areas_[i].mutex().lock();
  store_.lock_all();
  depot_.freeze();
}

void Heap::unlock_all() {
  if (!started_) return;
  depot_.thaw();
  store_.unlock_all();
  for (unsigned i = classes_.count(); i-- > 0;) areas_[i].mutex().unlock();
  caches_.mutex().unlock();
  ageing_.mutex().unlock();
}

void Heap::forget_other_threads(Cache* mine) {
  threads_alive_.store(mine != nullptr ? 1 : 0, std::memory_order_relaxed);
  void* const thread = mine != nullptr ? mine->holder.thread() : nullptr;
  for (Cache* cache = caches_.first(); cache != nullptr; cache = cache->next) {
    if (cache->holder.thread() != thread) {
      cache->holder.forget();
    } else {
      cache->holder.enter(thread);
    }
  }
}

}  // namespace pktmalloc
