// SPDX-License-Identifier: MIT
#include "sizeclass/heap/heap.h"

#include <sched.h>

#include <iterator>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/misuse.h"

namespace pktmalloc {

bool Heap::start(const HeapConfig& config) {
  if (config.sizes_count > 0) {
    classes_.use_list(config.sizes, config.sizes_count, ClassTable::kUnitShift, config.beside);
  } else {
    classes_.use_default(config.beside);
  }
  limit_.set(config.limit, config.soft_limit);
  ageing_.start(config.interval_ms, limit_, due_);
  supply_.emplace(Supply{classes_, areas_, {&pool_, &magazine_pool_}, depot_, store_, caches_});
  shuffle_seed_ = config.shuffle_seed;
  most_block_ = config.most_block;
  constexpr size_t kLeast = size_t{64} << 20;
  for (size_t bytes = config.most_bytes; bytes >= std::min(kLeast, config.most_bytes); bytes /= 2) {
    if (find_room(config, bytes)) return started_ = true;
  }
  classes_.use_list(nullptr, 0);
  return false;
}

// One place for all, where addresses are free for a long way:
//     | caches | records | magazines | their records | states | objects |
// Between them and around lie addresses that nobody has: a write past the end of one does not reach
// another. The caches come first, and have memory from the start on, so the next heap of the
// process finds the place taken; the others have none before it is needed. Another mapping where
// the objects begin would end all growth.
bool Heap::find_room(const HeapConfig& config, size_t bytes) {
  // Second-level pages of page tables begin at each GiB.
  const size_t alignment = size_t{1} << (bytes >= size_t{1} << 30 ? 30 : 22);
  const auto room = [=](size_t wanted) { return round_up(wanted, alignment); };
  // A free object of 16 bytes takes 8 in a magazine, the average one far less; and the depot's
  // words name magazines within 256 GiB.
  const size_t magazines = std::max(bytes / 8, alignment);
  const size_t parts[] = {
      std::max(bytes / 256, alignment),  // caches, 5 KiB each
      SlabPool::record_bytes(bytes),
      magazines,
      SlabPool::record_bytes(magazines),
      config.state_bytes != 0 ? ObjectStates::room_for(bytes, config.state_bytes) : 0,
      bytes};
  size_t all = 0;
  for (const size_t part : parts) all += room(part) + alignment;
  uintptr_t at = memory::find_room(all, alignment, Caches::kStep, all - room(bytes) - alignment);
  if (at == 0) return false;
  uintptr_t begins[std::size(parts)];
  for (unsigned i = 0; i < std::size(parts); ++i) {
    begins[i] = at;
    at += room(parts[i]) + alignment;
  }

  caches_.start(begins[0], parts[0], config.huge_pages != HugePages::kNever);
  SlabPool::Config objects{
      .begin = begins[5], .most = bytes, .records = begins[1], .bytes = &bytes_};
  objects.huge_pages = config.huge_pages;
  objects.zeroes = config.zeroes;
  if (config.state_bytes != 0) objects.states = &states_;
  pool_.start(objects, limit_);
  SlabPool::Config of_magazines{
      .begin = begins[2], .most = magazines, .records = begins[3], .bytes = &magazine_bytes_};
  of_magazines.rank = 1;
  of_magazines.huge_pages = config.huge_pages;
  magazine_pool_.start(of_magazines, limit_);
  if (config.state_bytes != 0) {
    states_.start(pool_.start_of(pool_.first_unit()), bytes, classes_, begins[4],
                  config.state_bytes);
  }
  store_.start(magazine_pool_);
  for (const ClassId id : classes_.ids()) {
    areas_[index(id)].mutex.set_rank(LockRank::kArea + index(id));
  }
  base_ = pool_.base();
  return true;
}

void Heap::stop() {
  if (!started_) return;
  const uintptr_t begin = caches_.begin();
  memory::release(reinterpret_cast<void*>(begin), pool_.base() + pool_.most() - begin);
  bytes_ = 0;
  started_ = false;
}

// Its thread has ended.
void Heap::uncount(Cache& cache) {
  threads_alive_.fetch_sub(cache.counts ? 1 : 0, std::memory_order_relaxed);
  cache.counts = false;
}

// Has the cache's thread ended without detach()? Then the cache waits for another one.
bool Heap::inherit(Cache& cache) {
  if (!cache.holder.has_ended()) return false;
  uncount(cache);
  if (cache.recover()) caches_.give(&cache);
  return true;
}

// The next call begins at the thread that this one found: usually it still runs.
bool Heap::has_threads() {
  const Lock lock(caches_.mutex);
  for (unsigned left = caches_.count(); left > 0; --left) {
    Cache* const cache = caches_.walk();
    if (cache->counts && cache->holder.thread() != nullptr && !inherit(*cache)) {
      caches_.walk_from(cache);
      return true;
    }
  }
  return threads_alive() > 0;
}

Cache* Heap::attach(void* thread, bool counts) {
  if (!started_) return nullptr;
  const Lock lock(caches_.mutex);
  // A few looks a thread find the ended ones in time, and cost the same however many threads live.
  constexpr int kLooks = 8;
  for (int i = 0; i < kLooks && caches_.none_waits(); ++i) {
    if (Cache* const cache = caches_.walk()) inherit(*cache);
  }
  Cache* const cache = caches_.take();
  if (cache == nullptr) return nullptr;
  cache->holder.enter(thread);
  cache->visits = Cache::Visits{};
  cache->visits.last_ms = clock_ms();
  if (shuffle_seed_ != 0) cache->shuffle(shuffle_seed_ += 2 * sizeof(Cache));
  cache->visits.tick = due_.tick();  // else its first trip would look idle since the start
  cache->counts = counts;
  threads_seen_ += counts ? 1 : 0;
  threads_alive_.fetch_add(counts ? 1 : 0, std::memory_order_relaxed);
  return cache;
}

void Heap::detach(Cache* cache) {
  const bool keeps = caches_.lets_keep();
  cache->flush(*supply_, keeps);
  ageing_.notice();
  const Lock lock(caches_.mutex);
  cache->holder.leave();
  uncount(*cache);
  caches_.give(cache, keeps);
}

void Heap::end(Cache* cache, Cache* second) {
  if (!started_ || Mutex::any_held()) return;
  while (caches_.flush(*supply_)) continue;
  for (Cache* const own : {cache, second}) {
    while (own != nullptr && own->flush_idle(*supply_, 0, kNoClass)) continue;
  }
  unsigned left = 64;  // magazines, in 0.1 ms
  for (const ClassId id : classes_.ids()) {
    uint8_t source = 0;
    while (Magazine* const magazine = left > 0 ? depot_.take(id, 0, source, 0) : nullptr) {
      store_.give_back(supply_->drain(id, magazine));
      --left;
    }
  }
}

void* Heap::allocate(Cache* cache, ClassId id, bool* zero) {
  if (id == kNoClass) return nullptr;
  constexpr uint32_t kLarge = 16 << 10;  // to clear less costs no more than a trip
  if (classes_[id].object_bytes < kLarge) zero = nullptr;
  if (cache != nullptr) {
    void* object = cache->allocate(id);
    if (object == nullptr) object = cache->allocate_slow(*supply_, id, zero == nullptr);
    if (cache->tripped || cache->visits.watched) {
      come_by(*cache, id, cache->tripped ? Ageing::Visit::kTake : Ageing::Visit::kWatched);
    }
    if (object != nullptr) return object;
  }
  uintptr_t object = 0;
  if (supply_->area(id).fill(&object, 1, zero) == 0) return nullptr;
  direct_allocs_[index(id)].fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<void*>(object);
}

void Heap::release(Cache* cache, ClassId id, void* object) {
  const uintptr_t only = reinterpret_cast<uintptr_t>(object);
  if (cache == nullptr) return supply_->area(id).drain(&only, 1);
  if (cache->release(id, object)) return;
  cache->release_slow(*supply_, id, object);
  if (cache->tripped) come_by(*cache, id, Ageing::Visit::kGive);
}

// A thread that asks for nothing else ages the pool as well, and first: what goes makes room.
void* Heap::allocate_block(Cache* cache, size_t bytes, bool* zero) {
  if (cache != nullptr) come_by(*cache, kNoClass, Ageing::Visit::kTake);
  if (!started_ || bytes <= ClassTable::kDefaultLimit || bytes > most_block_) return nullptr;
  const SlabPool::Taken taken = pool_.take(kNoClass, units_for(bytes));
  if (taken.unit == SlabPool::kNone) return nullptr;
  if (zero != nullptr) *zero = taken.clean;
  return reinterpret_cast<void*>(pool_.start_of(taken.unit));
}

void Heap::release_block(Cache* cache, void* block) {
  if (!resize_block(cache, block, 0)) refuse(block);
}

// What a block gives back goes to the system at once where too much waits, as glibc gives a heap's
// end back. Twice as much: so no more waits than lives while blocks become fewer.
bool Heap::resize_block(Cache* cache, void* block, size_t bytes) {
  if (bytes > most_block_) return false;
  const uint32_t units = units_for(bytes);
  const uint32_t had = pool_.resize_block(reinterpret_cast<uintptr_t>(block), units);
  if (had == 0) return false;
  const bool much = units < had && pool_.waiting_bytes() > SlabPool::kMostOfBlocks;
  if (much && !memory::in_strict_mode && ageing_.mutex.try_lock()) {
    pool_.purge_excess(2 * (had - units));
    ageing_.mutex.unlock();
  }
  if (cache != nullptr) come_by(*cache, kNoClass, Ageing::Visit::kGive);
  return true;
}

void Heap::come_by(Cache& cache, ClassId id, Ageing::Visit why) {
  cache.tripped = false;
  if (ageing_.is_due(*supply_, cache, id, why)) ageing_.visit(*supply_, cache, id, why);
}

bool Heap::is_nobodys(const void* p) const {
  // Somebody else may have addresses where the pool could have grown.
  return reinterpret_cast<uintptr_t>(p) - base_ < pool_.most() &&
         (spans(p) ? block_bytes(p) == 0 : !memory::is_mapped(p));
}

uintptr_t Heap::object_beside(uintptr_t address) const {
  const auto at = [](uintptr_t there) { return reinterpret_cast<const void*>(there); };
  const auto object = [&](uintptr_t there) { return object_at(class_of(at(there)), at(there)); };
  if (!is_nobodys(at(address)) || object(address) != 0) return 0;
  const uintptr_t page = memory::page_bytes(), its_page = address & ~(page - 1);
  if (const uintptr_t behind = object(its_page + page)) return behind;
  uintptr_t before = its_page - 1;
  while (spans(at(before)) && !owns(at(before)) && object(before) == 0)
    before -= uintptr_t{1} << SlabPool::kUnitShift;
  // Behind a slab's last object may be bytes that are none's.
  while (owns(at(before)) && object(before) == 0) before -= 16;
  return object(before);
}

// An object that could have begun there when a class had the unit.
void Heap::refuse(const void* p) const {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  const SizeClass& c = classes_[pool_.former_class(address)];
  const auto offset = static_cast<uint32_t>(address % pool_.unit_bytes());
  const bool was_object =
      c.units == 1 ? c.exact_index(offset) < c.objects_per_slab : c.units > 1 && offset % 16 == 0;
  const uint64_t block = block_bytes(p, SlabPool::kBlockBegan);
  report_misuse(was_object || block != 0 ? Misuse::kDoubleFree : Misuse::kNotAnObject, address,
                block != 0 ? block : c.object_bytes);
}

uint64_t Heap::trim(Cache* cache, Cache* second) {
  if (!started_) return 0;
  if (cache != nullptr) cache->flush(*supply_);
  if (second != nullptr) second->flush(*supply_);
  return ageing_.trim(*supply_);
}

// Leaves out magazines: a thread with an old depot head may still read one.
void Heap::decommit(Cache* cache) {
  trim(cache);
  if (started_) pool_.decommit();
}

void Heap::limit_addresses(size_t limit) {
  if (!started_) return;
  const Lock lock(pool_.mutex);
  pool_.let_grow(limit >= kFewAddresses);
}

// Every lock, in rank order. Before the heap has started nobody is inside, and the areas' have no
// rank yet.
std::span<Mutex*> Heap::locks(Mutex* (&all)[kLocks]) {
  size_t n = 0;
  all[n++] = &ageing_.mutex;
  all[n++] = &caches_.mutex;
  for (const ClassId id : classes_.ids()) all[n++] = &areas_[index(id)].mutex;
  for (unsigned size = 0; size < kMagazineSizes; ++size) all[n++] = &store_.mutex(size);
  all[n++] = &pool_.mutex;
  all[n++] = &magazine_pool_.mutex;
  if (pool_.has_states()) all[n++] = &states_.mutex;
  return {all, n};
}

// The depots are frozen as well: the system copies a forking process page by page while its other
// threads run, so a stack that changes meanwhile could show the child one magazine twice.
void Heap::lock_all() {
  if (!started_) return;
  Mutex* all[kLocks];
  for (Mutex* const mutex : locks(all)) mutex->lock();
  store_.freeze();
  depot_.freeze();
}

void Heap::unlock_all() {
  if (!started_) return;
  depot_.thaw();
  store_.thaw();
  Mutex* all[kLocks];
  const std::span<Mutex*> locked = locks(all);
  for (size_t n = locked.size(); n > 0; --n) locked[n - 1]->unlock();
}

bool Heap::can_lock() {
  if (!started_) return true;
  Mutex* all[kLocks];
  for (Mutex* const mutex : locks(all)) {
    for (unsigned tries = 0; !mutex->try_lock(); ++tries) {
      if (tries == 1000) return false;
      sched_yield();
    }
    mutex->unlock();
  }
  return true;
}

void Heap::forget_other_threads(Cache* mine, Cache* second) {
  const uint64_t alive = mine != nullptr ? 1 : 0;
  if (threads_alive() != alive) threads_alive_.store(alive, std::memory_order_relaxed);
  void* const thread = mine != nullptr ? mine->holder.thread() : nullptr;
  Holder::forget_all();
  for (Cache* const own : {mine, second}) {
    if (own != nullptr) own->holder.enter(thread);
  }
}

// Magazines are populated as well: who frees a million objects needs 8 MiB of them.
uint64_t Heap::magazines_for(ClassId id, uint64_t objects) const {
  const uint32_t rounds = classes_[id].largest_rounds;
  // From many objects on also what 64 threads have besides.
  const bool many = objects >= SlabArea::kManyMagazines * rounds;
  return objects == 0 ? 0 : objects / rounds + (many ? SlabArea::kManyMagazines : 1);
}

uint64_t Heap::bytes_to_populate(ClassId id, uint64_t objects) const {
  const SizeClass& c = classes_[id];
  if (objects > pool_.most() / c.object_bytes) return ~uint64_t{0};
  const uint64_t bytes = objects * c.object_bytes;
  const uint64_t magazine = bytes_of_size(magazine_size(id));
  // With a 64th for slabs' records and page tables.
  return bytes + bytes / 64 + states_.bytes_for(c, bytes) + magazines_for(id, objects) * magazine;
}

uint64_t Heap::populate(ClassId id, uint64_t objects, bool huge_pages) {
  if (!started_) return 0;
  const Lock lock(ageing_.mutex);  // one at a time
  SlabArea area = supply_->area(id);
  const uint64_t before = magazines_for(id, area.promised());
  const uint64_t got = huge_pages ? area.populate_on_huge_pages(objects) : area.populate(objects);
  const uint64_t magazines = magazines_for(id, area.promised()) - before;
  const bool ready = store_.area(magazine_size(id)).populate(magazines) == magazines;
  // Without magazines what is on huge pages is there all the same.
  if (huge_pages || (ready && got == objects)) return got;
  area.unpopulate(got);
  return 0;
}

}  // namespace pktmalloc
