// SPDX-License-Identifier: MIT
#include "sizeclass/slab_area.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sizeclass/misuse.h"

namespace pktmalloc {

void SlabArea::start(const SizeClass& size_class, LockRank rank, SlabPool& pool, ClassId id) {
  mutex_.set_rank(rank);
  class_ = size_class;
  pool_ = &pool;
  id_ = id;
  record_kind_ = SlabPool::record_kind(class_.objects_per_slab);
  const Lock lock(mutex_);
  partial_.use(pool.words(id), pool.words_stride());
}

uint32_t SlabArea::fill(uintptr_t* slots, uint32_t want, bool* zero) {
  const Lock lock(mutex_);
  uintptr_t* next = slots + want;
  while (next != slots) {
    if (partial_.count() == 0 && take_slab() == SlabPool::kNone) break;
    const uint32_t slab = partial_.lowest();
    Record& r = record(slab);
    const uintptr_t start = pool_->start_of(slab);
    const uint32_t words = (class_.objects_per_slab + 63) / 64;
    const uint32_t first = first_object(slab);
    uint64_t wanted = ~uint64_t{0} << first % 64;  // the word that has the first one comes twice
    uint32_t left = r.free, latest = first;
    for (uint32_t w = first / 64; left > 0 && next != slots;) {
      uint64_t word = r.bits[w] & wanted;
      const uint64_t others = r.bits[w] & ~wanted;
      const uintptr_t at = start + uintptr_t{w} * 64 * class_.object_bytes;
      while (word != 0 && next != slots) {
        *--next = at + static_cast<uintptr_t>(std::countr_zero(word)) * class_.object_bytes;
        latest = w * 64 + static_cast<uint32_t>(std::countr_zero(word));
        word &= word - 1;
        --left;
      }
      r.bits[w] = word | others;
      wanted = ~uint64_t{0};
      if (++w == words) w = 0;
    }
    const uint32_t nth =
        latest >= first ? latest - first : latest + class_.objects_per_slab - first;
    if (zero != nullptr) *zero = nth >= r.used;
    r.used = std::max(r.used, static_cast<uint16_t>(nth + 1));
    set_free(slab, r, left);
  }
  const uint32_t got = want - static_cast<uint32_t>(next - slots);
  if (next != slots) memmove(slots, next, got * sizeof *slots);
  ++counts_.fills;
  counts_.filled += got;
  return got;
}

void SlabArea::drain(const uintptr_t* slots, uint32_t count) {
  // Copies: to the compiler, each store to a record might change them.
  const SizeClass c = class_;
  const uint32_t all = c.objects_per_slab;
  mutex_.lock();
  uint64_t stay = 0;  // objects whose slab stays in its set
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slab = pool_->slab_of(id_, slots[i]);
    const uint32_t object =
        slab == SlabPool::kNone
            ? all
            : c.exact_index(static_cast<uint32_t>(slots[i] - pool_->start_of(slab)));
    if (object >= all) [[unlikely]] {
      mutex_.unlock();
      refuse(slots[i]);
    }
    Record& r = record(slab);
    uint64_t& word = r.bits[object / 64];
    const uint64_t bit = uint64_t{1} << (object % 64);
    if ((word & bit) != 0) [[unlikely]] {
      mutex_.unlock();
      report_misuse(Misuse::kDoubleFree, slots[i], c.object_bytes);
    }
    word |= bit;
    if (r.free == 0 || r.free + 1 == all) {
      set_free(slab, r, r.free + 1);
    } else {
      ++r.free;
      ++stay;
    }
  }
  counts_.free_objects += stay;
  ++counts_.drains;
  counts_.drained += count;
  mutex_.unlock();
}

void SlabArea::refuse(uintptr_t address) const {
  // A slab whose last object came back twice is the pool's.
  const Misuse misuse =
      pool_->former_class(address) == id_ ? Misuse::kDoubleFree : Misuse::kNotAnObject;
  report_misuse(misuse, address, class_.object_bytes);
}

// Moves the slab to where it belongs with that number of free objects.
void SlabArea::set_free(uint32_t slab, Record& r, uint32_t free) {
  const uint32_t all = class_.objects_per_slab, before = r.free;
  counts_.free_objects += uint64_t{free} - before;
  r.free = free;
  if (before == all) --counts_.empty_slabs;
  if (free == all && r.stays == kGoes) {
    if (before != 0) partial_.erase(slab);
    counts_.free_objects -= all;
    --counts_.slabs;
    pool_->give(id_, slab, class_.units);
    return;
  }
  if (free == all) ++counts_.empty_slabs;
  if (before == 0 && free != 0) partial_.insert(slab);
  if (before != 0 && free == 0) partial_.erase(slab);
}

uint32_t SlabArea::take_slab() {
  const SlabPool::Taken taken = pool_->take(id_, class_.units);
  if (taken.unit == SlabPool::kNone || adopt(taken.unit, taken.clean)) return taken.unit;
  pool_->give(id_, taken.unit, class_.units);
  return SlabPool::kNone;
}

// A slab that the pool has just given: all its objects are free.
bool SlabArea::adopt(uint32_t slab, bool zero) {
  if (states_ != nullptr && !states_->open(id_, pool_->start_of(slab), slab_bytes())) return false;
  Record& r = record(slab);
  uint32_t left = class_.objects_per_slab;
  for (uint32_t w = 0; left > 0; ++w) {
    const uint32_t here = std::min<uint32_t>(left, 64);
    r.bits[w] = ~uint64_t{0} >> (64 - here);
    left -= here;
  }
  r.free = class_.objects_per_slab;
  r.used = static_cast<uint16_t>(zero ? 0 : class_.objects_per_slab);
  r.stays = kGoes;
  counts_.free_objects += r.free;
  ++counts_.slabs;
  ++counts_.empty_slabs;
  partial_.insert(slab);
  return true;
}

}  // namespace pktmalloc
