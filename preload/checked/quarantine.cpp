// SPDX-License-Identifier: MIT
#include "preload/checked/quarantine.h"

#include <algorithm>

#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {

constinit Mutex quarantine_mutex{lock_rank(OuterRank::kQuarantine)};

namespace {

struct Entry {
  char* user;
  size_t bytes;
};
Entry* ring = nullptr;  // address space of its own; memory comes as it grows
constexpr size_t kRingStep = 4096;
size_t most_entries = 0;                      // 0: no ring
size_t ring_entries = 0;                      // entries with memory; guarded by mutex
size_t limit_bytes = 0;                       // 0: none waits in it
size_t first = 0, count = 0, bytes_held = 0;  // guarded by mutex, like the ring

size_t raw_bytes(const Object& object) {
  return object.head.front() + object.bytes() + object.back_bytes();
}

// The memory goes back to where it came from. The record stays until somebody gets the memory, so
// that late double frees are still reported.
void give_back(const Object& object) {
  void* const raw = object.raw();
  const uintptr_t owner = heap.owner(raw);
  if (Heap::is_class(owner)) [[likely]] {
    if (this_thread.releases_to->release(static_cast<ClassId>(owner), raw)) [[likely]]
      return;
  } else if (is_guarded(raw)) {
    return release_guarded(object);
  } else {
    remove_large(object);
  }
  release(raw);
}

void leave(const Object& object) {
  if (inspect_freed(object)) give_back(object);
}

// A thread's latest chosen frees: it takes the lock once for many.
constexpr unsigned kBatch = 32;
constexpr size_t kAlone = 8 << 10;  // an object of this size goes to the ring at once
struct Batch {
  unsigned count;
  Object objects[kBatch];
};
constinit thread_local Batch batch{};

void push(const Object& object) {
  size_t next = first + count;
  if (next >= ring_entries) next -= ring_entries;
  const size_t bytes = raw_bytes(object);
  ring[next] = {object.user, bytes};
  ++count;
  bytes_held += bytes;
}

// Up to twice as many entries. If the system refuses, the oldest leave sooner.
void grow() {
  const size_t larger = std::min(std::max(2 * ring_entries, kRingStep), most_entries);
  const size_t more = larger - ring_entries;
  if (more == 0 || !memory::commit(ring + ring_entries, more * sizeof(Entry))) return;
  if (first + count > ring_entries) {
    memmove(ring + first + more, ring + first, (ring_entries - first) * sizeof(Entry));
    first += more;
  }
  ring_entries = larger;
}

// The oldest, if more than that many bytes wait; else nullptr.
char* pop(size_t most_bytes) {
  if (count == 0 || (bytes_held <= most_bytes && count + kBatch <= ring_entries)) return nullptr;
  const Entry oldest = ring[first];
  first = first + 1 == ring_entries ? 0 : first + 1;
  --count;
  bytes_held -= oldest.bytes;
  // Nobody has touched it for long.
  __builtin_prefetch(oldest.user - kFront);
  __builtin_prefetch(oldest.user + 64);
  return oldest.user;
}

// Gives this thread's batch to the ring and lets go of objects beyond the bound.
void exchange(size_t most_bytes, void (*let_go)(const Object&)) {
  const Raised at_work(recent.at_work);
  unsigned leaving;
  do {
    char* users[kBatch];
    leaving = 0;
    {
      const Lock lock(quarantine_mutex);
      for (unsigned i = 0; i < batch.count; ++i) push(batch.objects[i]);
      batch.count = 0;
      if (count + kBatch > ring_entries) grow();
      while (leaving < kBatch && (users[leaving] = pop(most_bytes)) != nullptr) ++leaving;
    }
    for (unsigned i = 0; i < leaving; ++i) {
      if (const Object object = find_object(users[i])) let_go(object);
    }
  } while (leaving == kBatch);
}

void wait_long(const Object& object) {
  const size_t bytes = raw_bytes(object);
  // Between our fork handlers this thread already holds the lock. In strict mode the heap could not
  // get memory in the place of what waits long.
  if (bytes > limit_bytes || this_thread.forking || recent.at_work || memory::in_strict_mode) {
    return give_back(object);
  }
  poison(object);
  const Raised at_work(recent.at_work);
  batch.objects[batch.count++] = object;
  if (batch.count == kBatch || bytes > kAlone || cache_to_release_into() == nullptr) {
    exchange(limit_bytes, leave);
  }
}

// Of one that has waited shortly. Inspects it.
Object object_at(uint64_t place) {
  const auto* const at = reinterpret_cast<const char*>(place >> 16);
  const Object object = find_object((place & Recent::kOther) != 0 ? at : at + kFront);
  if (object) inspect_recent(object);
  return object;
}

}  // namespace

constinit thread_local Recent recent{};

void leave_recent(uint64_t place) {
  if (place == 0) return;
  const size_t bytes = Recent::bytes_of(place);
  void* const raw = reinterpret_cast<void*>(place >> 16);
  const uintptr_t owner = heap.owner(raw);
  if ((place & Recent::kOther) == 0 && filled(raw, kFiller, bytes) && Heap::is_class(owner))
      [[likely]] {
    if (this_thread.releases_to->release(static_cast<ClassId>(owner), raw)) [[likely]]
      return;
    return release(raw);
  }
  if (const Object object = object_at(place)) give_back(object);
}

void quarantine_slow(Object object, bool waits_long) {
  const size_t bytes = object.bytes();
  if (waits_long || !can_wait_shortly(bytes)) return wait_long(object);
  poison_ends(object);
  const Raised at_work(recent.at_work);
  leave_recent(
      recent.swap(reinterpret_cast<uintptr_t>(object.user) << 16 | Recent::kOther | bytes / 64));
  for (unsigned n = 0; n < Recent::kMost && recent.bytes > Recent::kMostBytes; ++n) {
    leave_recent(recent.swap(0));
  }
}

void start_quarantine(size_t bytes, int rate) {
  long_below = ~uint64_t{0} / static_cast<uint64_t>(rate);
  constexpr size_t kLeastObject = 48;  // nearly: of smaller ones the oldest leave sooner
  const size_t entries = round_up(bytes / kLeastObject + size_t{2} * kBatch, kRingStep);
  ring = static_cast<Entry*>(memory::reserve(entries * sizeof(Entry)));
  if (ring == nullptr) return;
  most_entries = entries;
  grow();
  if (ring_entries == 0) return;
  limit_bytes = bytes;
  most_recent_bytes = std::min(bytes, Recent::kMostBytes);
}

void leave_quarantine(size_t most_bytes, bool gives_back) {
  // At work: exit() out of a signal handler that interrupted us.
  if (most_entries == 0 || recent.at_work) return;
  exchange(
      most_bytes,
      gives_back ? leave : [](const Object& object) { static_cast<void>(inspect_freed(object)); });
  const Raised at_work(recent.at_work);
  for (unsigned n = 0; n < Recent::kMost; ++n) {
    const uint64_t place = recent.swap(0);
    if (place == 0) continue;
    const Object object = object_at(place);
    if (object && gives_back) give_back(object);
  }
}

}  // namespace pktmalloc::checked
