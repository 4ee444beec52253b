// SPDX-License-Identifier: MIT
#include "preload/checked/quarantine.h"

#include <algorithm>
#include <cstring>

#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/checked/poison.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/raised.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {

constinit Mutex quarantine_mutex{lock_rank(OuterRank::kQuarantine)};

namespace {

struct Entry {
  Header* header;
  size_t bytes;
};
Entry* ring = nullptr;  // address space of its own; memory comes as it grows
constexpr size_t kRingStep = 4096;
size_t most_entries = 0;                      // 0: no ring
size_t ring_entries = 0;                      // entries with memory; guarded by mutex
size_t limit_bytes = 0;                       // 0: none waits in it
size_t first = 0, count = 0, bytes_held = 0;  // guarded by mutex, like the ring

size_t raw_bytes(const Header& header) {
  return front_bytes(header.alignment()) + header.bytes + header.back();
}

// The memory goes back to where it came from. The header stays readable until somebody gets it, so
// that late double frees are still reported; but the next owner would not overwrite it behind a
// pad, and it is overwritten between fork handlers (Thread::set_aside).
void give_back(Header& header) {
  void* raw = raw_of(header);
  const uintptr_t owner = heap.owner(raw);
  if (raw == &header && Heap::is_class(owner) &&
      this_thread.releases_to->release(static_cast<ClassId>(owner), raw)) [[likely]] {
    return;
  }
  if (Heap::is_class(heap.owner(raw))) [[likely]] {
    if (raw != &header || this_thread.forking) header.unseal();
  } else if (is_guarded(raw)) {
    release_guarded(header);
    return;
  } else {
    remove_large(&header);
  }
  release(raw);
}

void leave(Header& header) {
  if (inspect_freed(header)) give_back(header);
}

// What a thread freed last, the oldest at `first`. So few wait that they are still in the
// processor's cache when they are inspected and used again.
struct Recent {
  static constexpr unsigned kMost = 64;
  static constexpr size_t kMostBytes = size_t{512} << 10;

  bool full() const { return count == kMost || bytes > kMostBytes; }
  void push(Header& header) {
    const size_t units = header.bytes / 16;
    entries[(first + count++) % kMost] = header.address() << 16 | units;
    bytes += units * 16;
  }
  Header& pop() {
    const uintptr_t entry = entries[first];
    first = (first + 1) % kMost;
    --count;
    bytes -= (entry & 0xFFFF) * 16;
    __builtin_prefetch(reinterpret_cast<void*>(entries[(first + 2) % kMost] >> 16));
    return *reinterpret_cast<Header*>(entry >> 16);
  }

  // This thread is changing its lists or holds the lock. A signal handler that frees meanwhile sees
  // the mark and does not let its object wait.
  bool at_work;
  bool chooses;
  unsigned first, count;
  size_t bytes;
  uint64_t frees;
  uintptr_t entries[kMost];  // address and size, as halves of a word
};
static_assert(Recent::kMostBytes / 16 <= 0xFFFF);
constinit thread_local Recent recent{};

// Which objects wait long: runs of frees, chosen by multiples of the golden ratio, so that no
// rhythm of the program's can hide an object for ever. Runs, because each object keeps its slab in
// memory, and what is freed together often lies together.
constexpr unsigned kRun = 64;
uint64_t long_below = 0;
size_t most_recent_bytes = 0;  // of one object; 0: none waits
inline bool chosen() {
  if (recent.frees++ % kRun == 0) {
    recent.chooses = (recent.frees / kRun + 1) * 0x9E3779B97F4A7C15 <= long_below;
  }
  return recent.chooses;
}

// A thread's latest chosen frees: it takes the lock once for many.
constexpr unsigned kBatch = 32;
constexpr size_t kAlone = 8 << 10;  // an object of this size goes to the ring at once
struct Batch {
  unsigned count;
  Header* headers[kBatch];
};
constinit thread_local Batch batch{};

void push(Header& header) {
  size_t next = first + count;
  if (next >= ring_entries) next -= ring_entries;
  const size_t bytes = raw_bytes(header);
  ring[next] = {&header, bytes};
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
Header* pop(size_t most_bytes) {
  if (count == 0 || (bytes_held <= most_bytes && count + kBatch <= ring_entries)) return nullptr;
  const Entry oldest = ring[first];
  first = first + 1 == ring_entries ? 0 : first + 1;
  --count;
  bytes_held -= oldest.bytes;
  // Nobody has touched it for long.
  __builtin_prefetch(oldest.header);
  __builtin_prefetch(oldest.header + 2);
  return oldest.header;
}

// Gives this thread's batch to the ring and lets go of objects beyond the bound.
void exchange(size_t most_bytes, void (*let_go)(Header&)) {
  const Raised at_work(recent.at_work);
  unsigned leaving;
  do {
    Header* headers[kBatch];
    leaving = 0;
    {
      const Lock lock(quarantine_mutex);
      for (unsigned i = 0; i < batch.count; ++i) push(*batch.headers[i]);
      batch.count = 0;
      if (count + kBatch > ring_entries) grow();
      while (leaving < kBatch && (headers[leaving] = pop(most_bytes)) != nullptr) ++leaving;
    }
    for (unsigned i = 0; i < leaving; ++i) let_go(*headers[i]);
  } while (leaving == kBatch);
}

void quarantine_slow(Header& header) {
  const size_t bytes = raw_bytes(header);
  // Between our fork handlers this thread already holds the lock. In strict mode the heap could not
  // get memory in the place of what waits long.
  if (bytes > limit_bytes || this_thread.forking || recent.at_work || memory::in_strict_mode) {
    return give_back(header);
  }
  poison(header);
  const Raised at_work(recent.at_work);
  batch.headers[batch.count++] = &header;
  if (batch.count == kBatch || bytes > kAlone || cache_to_release_into() == nullptr) {
    exchange(limit_bytes, leave);
  }
}

}  // namespace

void quarantine(Header& header) {
  const bool has_cache = this_thread.releases_to != &kNullCache;
  if (header.bytes > most_recent_bytes || !has_cache || recent.at_work || chosen()) [[unlikely]] {
    return quarantine_slow(header);
  }
  poison_ends(header);
  const Raised at_work(recent.at_work);
  recent.push(header);
  while (recent.full()) {
    Header& oldest = recent.pop();
    if (inspect_recent(oldest)) [[likely]]
      give_back(oldest);
  }
}

void start_quarantine(size_t bytes, int rate) {
  long_below = ~uint64_t{0} / static_cast<uint64_t>(rate);
  constexpr size_t kLeastObject = sizeof(Header) + 16;
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
      most_bytes, gives_back ? leave : [](Header& header) { inspect_freed(header); });
  const Raised at_work(recent.at_work);
  while (recent.count > 0) {
    Header& header = recent.pop();
    if (inspect_recent(header) && gives_back) give_back(header);
  }
}

}  // namespace pktmalloc::checked
