// SPDX-License-Identifier: MIT
#include "preload/checked/quarantine.h"

#include <algorithm>

#include "preload/base/mapping.h"
#include "preload/checked/lookup.h"
#include "preload/process/process.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc::checked {

constinit Mutex quarantine_mutex{part_rank(PartId::checks, 1)};

namespace {

struct Entry {
  char* user;
  size_t bytes;
};
Entry* ring = nullptr;                        // address space of its own
size_t ring_entries = 0;                      // 0: no ring
size_t limit_bytes = 0;                       // 0: none waits in it
size_t first = 0, count = 0, bytes_held = 0;  // guarded by mutex, like the ring

// The memory goes back to where it came from. In the pool the record stays until somebody gets the
// memory, so that late double frees are still reported.
void give_back(const Object& object) {
  void* const raw = object.raw();
  if (is_guarded(raw)) return release_guarded(object);
  if (!heap.spans(raw)) remove_large(object);
  release_slow(raw);
}

// A thread's latest chosen frees: it takes the lock once for many.
constexpr unsigned kBatch = 32;
constexpr size_t kAlone = 8 << 10;  // an object of this size goes to the ring at once
constinit thread_local struct {
  unsigned count;
  Entry entries[kBatch];
} batch{};

void push(const Entry& entry) {
  const size_t next = first + count++;
  ring[next < ring_entries ? next : next - ring_entries] = entry;
  bytes_held += entry.bytes;
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

// Gives this thread's batch to the ring; inspects objects beyond the bound and gives them back, if
// that is wanted.
void exchange(size_t most_bytes, bool gives_back = true) {
  const Raised at_work(recent.at_work);
  unsigned leaving;
  do {
    char* users[kBatch];
    leaving = 0;
    {
      const Lock lock(quarantine_mutex);
      for (unsigned i = 0; i < batch.count; ++i) push(batch.entries[i]);
      batch.count = 0;
      while (leaving < kBatch && (users[leaving] = pop(most_bytes)) != nullptr) ++leaving;
    }
    for (unsigned i = 0; i < leaving; ++i) {
      const Object object = find_object(users[i]);
      if (object && inspect_freed(object) && gives_back) give_back(object);
    }
  } while (leaving == kBatch);
}

void wait_long(const Object& object) {
  const size_t bytes = object.head.front() + object.bytes() + object.back_bytes();
  // Between our fork handlers this thread already holds the lock. In strict mode the heap could not
  // get memory in the place of what waits long.
  if (bytes > limit_bytes || this_thread.forking || recent.at_work || memory::in_strict_mode) {
    return give_back(object);
  }
  const Raised at_work(recent.at_work);
  poison_long(object);
  batch.entries[batch.count++] = {object.user, bytes};
  if (batch.count == kBatch || bytes > kAlone || cache_of_this_thread(true) == nullptr) {
    exchange(limit_bytes);
  }
}

// Of any place: looks its object up.
void leave_recent_slow(uint64_t place, bool gives_back = true) {
  if (place == 0) return;
  const Raised at_work(recent.at_work);
  const auto* const at = reinterpret_cast<const char*>(place >> 16);
  if (Recent::is_other(place)) recent.other_64ths -= Recent::amount_of(place);
  const Object object = find_object(Recent::is_other(place) ? at : at + kFront);
  if (!object) return;
  inspect_poison(object, recent_ends(object));
  if (gives_back) give_back(object);
}

}  // namespace

void leave_recent(uint64_t place) {
  if (place == 0) return;
  const ClassId id = static_cast<ClassId>(place);
  char* const raw = reinterpret_cast<char*>(place >> 16);
  if (!Recent::is_other(place) && filled(raw, heap.classes()[id].object_bytes)) [[likely]]
    return release_pooled(id, raw);
  leave_recent_slow(place);
}

void quarantine_slow(Object object, bool waits_long) {
  const size_t bytes = object.bytes();
  if (waits_long || !can_wait_shortly(bytes)) return wait_long(object);
  const Raised at_work(recent.at_work);
  poison(object, recent_ends(object));
  const uint64_t place =
      reinterpret_cast<uintptr_t>(object.user) << 16 | Recent::kOther | bytes / 64;
  recent.other_64ths += Recent::amount_of(place);
  leave_recent(recent.swap(place));
  for (unsigned n = 0; n < Recent::kMost && recent.other_64ths > Recent::kMostBytes / 64; ++n) {
    leave_recent(recent.swap(0));
  }
}

void start_quarantine(size_t bytes, int rate) {
  long_below = ~uint64_t{0} / static_cast<uint64_t>(rate);
  constexpr size_t kLeastObject = 128;  // on average: of smaller ones the oldest leave sooner
  const size_t entries = bytes / kLeastObject + size_t{2} * kBatch;
  ring = static_cast<Entry*>(map_lazily(entries * sizeof(Entry)));
  if (ring == nullptr) return;
  ring_entries = entries;
  limit_bytes = bytes;
  most_recent_bytes = std::min(bytes, Recent::kMostBytes);
}

void leave_quarantine(size_t most_bytes, bool gives_back) {
  // At work: exit() out of a signal handler that interrupted us.
  if (ring_entries == 0 || recent.at_work) return;
  exchange(most_bytes, gives_back);
  const Raised at_work(recent.at_work);
  for (unsigned n = 0; n < Recent::kMost; ++n) leave_recent_slow(recent.swap(0), gives_back);
}

}  // namespace pktmalloc::checked
