// SPDX-License-Identifier: MIT
// Hardening part: what the hardened library does in the life of the process.
#include <algorithm>
#include <bit>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/base/random.h"
#include "preload/hardened/hardened_entry.h"
#include "preload/process/fault_signal.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/stacks/finding.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc {
namespace {

using namespace hardened;

constexpr size_t kStackBytes = size_t{1} << 20;  // of addresses; only reports need stacks

void start() {
  constexpr size_t kMostBytes = size_t{64} << 10;
  const bool clears_more = options().clear_bytes > kInspected;
  for (const ClassId id : heap.classes().ids()) {
    const size_t bytes = heap.classes()[id].object_bytes;
    const size_t places = std::clamp<size_t>(kMostBytes / bytes, 2, size_t{1} << kPlacesShift);
    ClassRow& row = rows[index(id)];
    row.places_shift = static_cast<uint8_t>(65 - std::bit_width(places));
    row.last = static_cast<uint8_t>(std::min(kInspected, bytes) - sizeof(Vector));
    row.last_cleared = clears_more && bytes > kInspected ? 0 : row.last;
  }
  if (options().canary) Canary::start();
}

constexpr size_t kWaitingBytes = kMaxClasses * sizeof(WaitingObjects);

// Of the calling thread. Its objects do not wait without memory, nor while observers want to see
// each free at its time.
void begin_waiting() {
  if (is_observed()) return;
  void*& objects = this_thread.cache->waiting;
  if (objects == nullptr) objects = map_lazily(kWaitingBytes);
  waiting.objects = static_cast<WaitingObjects*>(objects);
  waiting.random = random_number() | 1;
}

// With the place of each object that waits; what is freed meanwhile does not wait.
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

void let_all_go() {
  each_waiting([](ClassId id, void*& place) {
    release_waited_at(this_site(), id, std::exchange(place, nullptr));
  });
}

void end_waiting() {
  let_all_go();
  if (std::exchange(waiting.objects, nullptr) == nullptr) return;
  munmap(std::exchange(this_thread.cache->waiting, nullptr), kWaitingBytes);
}

// An access before the first object of a slab, or behind the last.
bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  const uintptr_t object = heap.object_beside(address);
  if (object == 0) return false;
  const auto* const p = reinterpret_cast<const void*>(object);
  const size_t bytes = heap.classes()[heap.class_of(p)].object_bytes;
  tell_access(capture_interrupted(pc), {.user = p, .bytes = bytes, .is_most = true}, what, address);
  return false;
}

void load() {
  if (is_observed()) end_waiting();
  start_stacks(kStackBytes);
  load_unwinder();
  watch_faults(on_fault);
}

}  // namespace

constinit const Part hardening_part{
    .start = start,
    .load = load,
    .thread_start = begin_waiting,
    .thread_exit = end_waiting,
    .refused = [](size_t) { return let_all_go(), false; },  // little
    .exit =
        [] {
          each_waiting([](ClassId, void*& place) {
            if (!is_head_blank(place)) tell_written(0, place);
          });
        },
};

}  // namespace pktmalloc
