// SPDX-License-Identifier: MIT
#include "sizeclass/magazine_store.h"

namespace pktmalloc {
namespace {

SizeClass class_of_size(unsigned size, unsigned slab_shift) {
  return ClassTable::describe(bytes_of_size(size), slab_shift);
}

AreaPlace place_of(const Stripes& stripes, unsigned size, const SizeClass& c) {
  return stripes.place(size, c.slab_shift, c.alignment());
}

}  // namespace

size_t MagazineStore::early_bytes(unsigned slab_shift) {
  size_t bytes = 0;
  for (unsigned n = 0; n < kMagazineSizes; ++n) {
    bytes += SlabArea::early_bytes(class_of_size(n, slab_shift));
  }
  return bytes;
}

size_t MagazineStore::late_bytes(const Stripes& stripes, unsigned slab_shift) {
  size_t bytes = 0;
  for (unsigned n = 0; n < kMagazineSizes; ++n) {
    const SizeClass c = class_of_size(n, slab_shift);
    bytes += SlabArea::late_bytes(c, place_of(stripes, n, c).slabs());
  }
  return bytes;
}

void MagazineStore::start(const Stripes& stripes, unsigned slab_shift, char* early, char* late) {
  for (unsigned n = 0; n < kMagazineSizes; ++n) {
    const SizeClass c = class_of_size(n, slab_shift);
    const AreaPlace place = place_of(stripes, n, c);
    // Ids count from one granule before the first area, so that id 0 can mean none.
    empties_[n].start(stripes.base - kMagazineGranule);
    areas_[n].start(c, LockRank::kMagazineArea + n, place, early, late);
    early += SlabArea::early_bytes(c);
    late += SlabArea::late_bytes(c, place.slabs());
  }
}

Magazine* MagazineStore::reuse(uint32_t capacity, unsigned home) {
  Magazine* const magazine = empties_[size_for_rounds(capacity)].pop(home);
  if (magazine == nullptr) return nullptr;
  magazine->rounds = 0;
  magazine->set_capacity(capacity);
  return magazine;
}

Magazine* MagazineStore::make(uint32_t capacity) {
  const uint8_t size = size_for_rounds(capacity);
  uintptr_t fresh = 0;
  if (areas_[size].fill(&fresh, 1) == 0) return nullptr;
  Magazine* const magazine = reinterpret_cast<Magazine*>(fresh);
  magazine->size = size;
  magazine->capacity = 0;  // slots()[1] is erased by set_capacity below
  magazine->slots()[0] = kEmptyMark;
  magazine->rounds = 0;
  magazine->set_capacity(capacity);
  return magazine;
}

void MagazineStore::retire(Magazine* magazine) {
  // The next user of this memory does not know where its FULL is.
  magazine->slots()[magazine->capacity + 1U] = kEmptyMark;
  const uintptr_t object = reinterpret_cast<uintptr_t>(magazine);
  areas_[magazine->size].drain(&object, 1);
}

bool MagazineStore::drain_one(unsigned size) {
  Magazine* magazine = empties_[size].pop_idle();
  if (magazine == nullptr) return false;
  retire(magazine);
  return true;
}

}  // namespace pktmalloc
