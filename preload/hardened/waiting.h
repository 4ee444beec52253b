// SPDX-License-Identifier: MIT
// Waiting: a thread's freed objects wait before they are used again, and come back in random order.
//
// Of each class up to sixteen wait. A freed object takes the place of one that is chosen at random,
// and that one goes to the cache. So it takes sixteen frees of the class on average until an object
// can be handed out again, and nobody knows which is next.
#pragma once

#include <cstdint>
#include <utility>

#include "preload/hardened/blank.h"
#include "preload/process/thread.h"
#include "sizeclass/base/class_id.h"
#include "sizeclass/base/congruence.h"

namespace pktmalloc::hardened {

inline constexpr unsigned kPlacesShift = 4;

typedef void* WaitingObjects[1U << kPlacesShift];  // of a class

struct Waiting {
  WaitingObjects* objects;  // by class; nullptr: nothing waits in this thread
  uint64_t random;
};
inline constinit thread_local Waiting waiting{nullptr, 0};

// The object that goes back to the cache now; nullptr: none does. Only in a thread where objects
// wait.
inline void* wait(ClassId id, void* p) {
  waiting.random = next_odd_number(waiting.random);
  WaitingObjects& places = waiting.objects[index(id)];
  return std::exchange(places[waiting.random >> row(id).places_shift], p);
}

// At most 64 KiB of a class wait. `clears_more`: than a line of each freed object.
void start_rows(bool clears_more);
// Of the calling thread. Its objects do not wait without memory, nor while observers want to see
// each free at its time.
void begin_waiting();
void end_waiting(void (*let_go)(ClassId id, void*& place));
// With the place of each object that waits; what is freed meanwhile does not wait.
void each_waiting(void (*visit)(ClassId id, void*& place));

}  // namespace pktmalloc::hardened
