// SPDX-License-Identifier: MIT
#include "preload/hardened/waiting.h"

#include <algorithm>
#include <bit>

#include "preload/base/mapping.h"
#include "preload/base/random.h"
#include "preload/process/heap.h"

namespace pktmalloc::hardened {

constexpr size_t kWaitingBytes = kMaxClasses * sizeof(WaitingObjects);

void start_rows(bool clears_more) {
  constexpr size_t kMostBytes = size_t{64} << 10;
  for (const ClassId id : heap.classes().ids()) {
    const size_t bytes = heap.classes()[id].object_bytes;
    const size_t places = std::clamp<size_t>(kMostBytes / bytes, 2, size_t{1} << kPlacesShift);
    ClassRow& row = rows[index(id)];
    row.places_shift = static_cast<uint8_t>(65 - std::bit_width(places));
    row.last = static_cast<uint8_t>(std::min(kInspected, bytes) - sizeof(Vector));
    row.last_cleared = clears_more && bytes > kInspected ? 0 : row.last;
  }
}

void begin_waiting() {
  if (is_observed()) return;
  waiting.objects = static_cast<WaitingObjects*>(map_lazily(kWaitingBytes));
  waiting.random = random_number() | 1;
}

void each_waiting(void (*visit)(ClassId id, void*& place)) {
  WaitingObjects* const objects = std::exchange(waiting.objects, nullptr);
  if (objects == nullptr) return;
  for (unsigned i = 0; i < kMaxClasses; ++i) {
    for (void*& place : objects[i]) {
      if (place != nullptr) visit(static_cast<ClassId>(i), place);
    }
  }
  waiting.objects = objects;
}

void end_waiting(void (*let_go)(ClassId id, void*& place)) {
  each_waiting(let_go);
  WaitingObjects* const objects = std::exchange(waiting.objects, nullptr);
  if (objects != nullptr) munmap(objects, kWaitingBytes);
}

}  // namespace pktmalloc::hardened
