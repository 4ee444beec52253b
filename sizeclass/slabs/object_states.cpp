// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/object_states.h"

#include <cstring>

namespace pktmalloc {

void ObjectStates::start(uintptr_t base, size_t bytes, const ClassTable& classes, uintptr_t room,
                         size_t word_bytes) {
  mutex.set_rank(LockRank::kStates);
  const Lock lock(mutex);
  base_ = base;
  word_bytes_ = word_bytes;
  for (unsigned shift = kLeastShift; shift <= kMostShift; ++shift) {
    const size_t most = round_up(((bytes >> shift) + 1) * word_bytes, step(word_bytes, shift));
    words_[shift].start(room, most, false);  // few of them are used
    room += most;
  }
  words_of_[index(kNoClass)] = reinterpret_cast<uintptr_t>(&nobodys_);
  shifts_[index(kNoClass)] = 63;  // no program has such addresses
  const auto place = [&](ClassId id, unsigned shift) NOT_FOLLOWED {
    words_of_[index(id)] = words_[shift].begin() - (base >> shift) * word_bytes;
    shifts_[index(id)] = static_cast<uint8_t>(shift);
  };
  for (const ClassId id : classes.ids()) place(id, shift_of(classes[id]));
  if (word_bytes != sizeof nobodys_) place(kNoClass, ClassTable::kUnitShift);
}

bool ObjectStates::open(ClassId id, uintptr_t start, size_t bytes) {
  // A mere state would say nothing new of a block: the map says where one begins.
  if (id == kNoClass && word_bytes_ == sizeof nobodys_) return true;
  const Place place = this->place(id);
  const Lock lock(mutex);
  GrowingMemory& words = words_[place.shift];
  const uintptr_t begin = place.word(start, word_bytes_) - words.begin();
  // No object of the slab begins in a granule that goes beyond its end, but the next slab's may.
  const uintptr_t end = place.word(start + bytes, word_bytes_) - words.begin();
  const size_t before = words.bytes();
  if (begin < before) memset(words.at(begin), 0, std::min(end, before) - begin);
  const uintptr_t needed = end + word_bytes_;  // of any address in the slab
  if (needed <= before) return true;
  if (!words.grow_to(round_up(needed, step(word_bytes_, place.shift))) && !words.grow_to(needed))
    return false;
  committed_.fetch_add(words.bytes() - before, std::memory_order_relaxed);
  return true;
}

// Of all granules: the units may have had several classes.
void ObjectStates::purge(uintptr_t start, size_t bytes) {
  const uintptr_t distance = start - base_, page = memory::page_bytes();
  for (unsigned shift = kLeastShift; shift <= kMostShift; ++shift) {
    mutex.lock();
    const GrowingMemory words = words_[shift];
    mutex.unlock();
    // A granule that lies in them in part may have an object of the unit before them.
    const uintptr_t first = (distance + (uintptr_t{1} << shift) - 1) >> shift;
    const uintptr_t low = round_up(first * word_bytes_, page);
    const uintptr_t end = ((distance + bytes) >> shift) * word_bytes_;
    const uintptr_t high = std::min<uintptr_t>(end, words.bytes()) & -page;
    if (low < high) memory::purge(words.at(low), high - low);
  }
}

}  // namespace pktmalloc
