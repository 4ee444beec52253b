// SPDX-License-Identifier: MIT
#include "sizeclass/exchange/magazine_store.h"

#include <algorithm>
#include <iterator>

namespace pktmalloc {

void MagazineStore::start(SlabPool& pool) {
  pool_ = &pool;
  MagazineStack::use_base(pool.base());  // the map comes first, so id 0 is no magazine
  for (unsigned n = 0; n < kMagazineSizes; ++n) {
    areas_[n].start(ClassTable::describe(bytes_of_size(n), pool.unit_shift()),
                    LockRank::kMagazineArea + n, pool, static_cast<ClassId>(n + 1));
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
  std::fill(std::begin(magazine->ahead), std::end(magazine->ahead), fresh);
  std::fill(std::begin(magazine->more_ahead), std::end(magazine->more_ahead), fresh);
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
