// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/object_states.h"

#include <cstring>

namespace pktmalloc {

void ObjectStates::start(uintptr_t base, size_t bytes, const ClassTable& classes, uintptr_t room) {
  const Lock lock(mutex_);
  for (unsigned shift = kLeastShift; shift <= kMostShift; ++shift) {
    const size_t most = round_up(words_bytes(bytes, shift), kStep);
    words_[shift].start(room, most);
    for (const ClassId id : classes.ids()) {
      if (shift_of(classes[id]) != shift) continue;
      places_[index(id)] = {room - words_bytes(base, shift), shift};
    }
    room += most;
  }
}

void ObjectStates::stop() {
  const Lock lock(mutex_);
  for (GrowingMemory& words : words_) words.shrink_to(0);
}

bool ObjectStates::open(ClassId id, uintptr_t start, size_t bytes) {
  const Place& place = places_[index(id)];
  const Lock lock(mutex_);
  GrowingMemory& words = words_[place.shift];
  const uintptr_t begin = place.word(start) - words.begin();
  // No object of the slab begins in a granule that goes beyond its end, but the next slab's may.
  const uintptr_t end = place.word(start + bytes) - words.begin();
  const size_t before = words.bytes();
  if (begin < before) memset(words.at(begin), 0, std::min(end, before) - begin);
  if (end <= before) return true;
  if (!words.grow_to(round_up(end, kStep)) && !words.grow_to(end)) return false;
  committed_.fetch_add(words.bytes() - before, std::memory_order_relaxed);
  return true;
}

}  // namespace pktmalloc
