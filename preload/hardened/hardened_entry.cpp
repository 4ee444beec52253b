// SPDX-License-Identifier: MIT
#include "preload/hardened/hardened_entry.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/guard/sample_guard.h"
#include "preload/process/fault_signal.h"
#include "preload/process/next_allocator.h"
#include "preload/process/process.h"
#include "preload/recording/observer.h"
#include "preload/stacks/finding.h"
#include "preload/stacks/symbols.h"

namespace pktmalloc::hardened {
namespace {

size_t class_bytes(ClassId id) { return heap.classes()[id].object_bytes; }

// Of an object of which only the class is known, or what its canary says.
Facts facts_of(const void* p, size_t bytes, bool is_most = true) {
  return {.user = p, .bytes = bytes, .is_most = is_most};
}

// Of a pointer among our units that is not the start of a live object, and goes into `call`.
void tell_wrong(Site site, const char* call, const void* p) {
  // Of a unit that no class has any more, the states are still there.
  const ClassId former = heap.former_class(p);
  const ClassId id = former != kNoClass ? former : heap.class_of(p);
  const uintptr_t start =
      former != kNoClass && is_start(p) ? reinterpret_cast<uintptr_t>(p) : heap.object_at(id, p);
  const auto* const object = reinterpret_cast<const void*>(start);
  const ObjectStates::State state =
      start == 0 ? ObjectStates::kNone : heap.state_of(id, object).state();
  const uint64_t block = heap.block_bytes(p, SlabPool::kBlockBegan);
  Facts facts = block != 0 ? facts_of(p, block) : facts_of(object, heap.bytes_of(id, object));
  facts.is_freed = block != 0 || state == ObjectStates::kFreed;
  const bool known =
      facts.is_freed || state != ObjectStates::kNone || (id == kNoClass && start != 0);
  tell_wrong_pointer(capture(site), known ? facts : Facts{}, call, p);
}

// Does an object in use, with a canary or without, begin at p, which lies in a slab of the class?
bool is_in_use(ClassId id, const void* p) {
  const ObjectStates::State state = heap.state_of(id, p).state();
  return is_start(p) && (state == ObjectStates::kLive || state == ObjectStates::kLiveWithCanary);
}

// Of an object; without a canary the class says what there is to know.
Canary canary_of(ClassId id, const void* p) {
  const bool guarded = heap.state_of(id, p).is(ObjectStates::kLiveWithCanary);
  return guarded ? Canary::read(p, class_bytes(id)) : Canary{class_bytes(id), true, false, 0};
}

// Tells if the object's canary is not as it was. The bytes that were asked for, as far as known.
size_t inspect_canary(Site site, const char* found, ClassId id, const void* p) {
  const Canary canary = canary_of(id, p);
  if (canary.whole) return canary.bytes;
  const Facts facts = facts_of(p, canary.bytes, !canary.word_whole);
  if (canary.word_whole) {
    tell_access(capture(site), facts, "write", reinterpret_cast<uintptr_t>(p) + canary.first,
                found);
  } else {
    tell(capture(site), facts,
         "write past the end of %p, an object of up to %zu bytes, or before %p%s", p, canary.bytes,
         static_cast<const char*>(p) + class_bytes(id), found);
  }
  return canary.bytes;
}

// What the slower functions got: pooled or not.
void* handed_out(Site site, void* p, size_t bytes, bool blank_before) {
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) return p;
  hand_out_suspicious_at(site, id, p, blank_before);
  if (canaries) {
    heap.state_of(id, p).set(ObjectStates::kLiveWithCanary);
    Canary::set(p, class_bytes(id), bytes);
  }
  return p;
}

// `object` is not live, has a canary, or is too small.
[[gnu::noinline]] void inspect_copy_slow(Site site, const void* to, size_t bytes, ClassId id,
                                         const void* object) {
  const bool in_use = is_in_use(id, object);
  const Canary canary = canary_of(id, object);
  const auto at =
      static_cast<size_t>(static_cast<const char*>(to) - static_cast<const char*>(object));
  if (in_use && at <= canary.bytes && bytes <= canary.bytes - at) return;
  if (in_use) return tell_copy(site, facts_of(object, canary.bytes, !canary.word_whole), to);
  if (!in_this_library(site.pc)) tell_wrong(site, "memcpy or memmove", to);
}

// Of what goes into `call`: neither an object in use nor another allocator's? Tells.
bool is_wrong(Site site, const char* call, const void* p) {
  const ClassId id = heap.class_of(p);
  const bool is_right = id != kNoClass ? is_in_use(id, p) : !heap.is_nobodys(p);
  if (!is_right) tell_wrong(site, call, p);
  return !is_right;
}

}  // namespace

void* hand_out_suspicious_at(Site site, ClassId id, void* p, bool blank_before) {
  if (is_in_use(id, p)) {
    tell_wrong_pointer(capture(site), facts_of(p, class_bytes(id)), "free", p,
                       ", found when it was handed out twice");
  }
  heap.state_of(id, p).set(ObjectStates::kLive);
  if (!blank_before) return p;
  // A new page's first access is a write: if it is a read, the system puts a page of zeros there,
  // and the first write is a second fault, which interrupts the other processors. W4 untouched with
  // two threads took 7,700 faults instead of 5,100, and twice as long.
  const bool begins_blank = machine::is_zero_for_writing(static_cast<uint64_t*>(p));
  if (!begins_blank || !is_blank(p, row(id).last)) tell_written(capture(site), p);
  return p;
}

void tell_written(StackId now, const void* p) {
  const size_t bytes = class_bytes(heap.class_of(p));
  const auto* const begin = static_cast<const char*>(p);
  const char* const end = begin + std::min(bytes, kInspected);
  const char* const first = std::find_if(begin, end, [](char c) { return c != 0; });
  tell_access(now, facts_of(p, bytes), "write", reinterpret_cast<uintptr_t>(first),
              now == 0 ? ", found at exit" : ", found when its memory was to be used again");
}

void release_waited_at(Site site, ClassId id, void* p) {
  if (p == nullptr) return;
  if (!is_head_blank(p)) tell_written(capture(site), p);
  memset(p, 0, std::min(class_bytes(id), std::max(kInspected, options().clear_bytes)));
  release_pooled(id, p);
}

}  // namespace pktmalloc::hardened

namespace pktmalloc::twin {

using namespace hardened;

void* allocate_slow(size_t bytes, Family, Site site) {
  if (void* const p = bytes == 0 ? allocate_nothing() : nullptr) {
    if (is_observed()) tell_allocated(p, 0, 0);
    return p;
  }
  // With canaries everything comes here, so first what the thread has itself.
  void* const p = pktmalloc::allocate<pktmalloc::allocate_slow>(with_canary(bytes));
  return handed_out(site, p, bytes, true);
}

size_t room_for(size_t bytes) { return with_canary(bytes); }

void* allocate_zeroed(size_t bytes, Site site) {
  if (bytes == 0) return allocate_slow(0, Family::kMalloc, site);
  return handed_out(site, pktmalloc::allocate_zeroed(with_canary(bytes)), bytes, false);
}

void* allocate_aligned(size_t alignment, size_t bytes, Family family, Site site) {
  if (bytes == 0 && alignment <= ClassTable::kSmallStep) return allocate_slow(0, family, site);
  return handed_out(site, pktmalloc::allocate_aligned(alignment, with_canary(bytes)), bytes, true);
}

void* reallocate(void* p, size_t bytes, Site site) {
  if (is_wrong(site, "realloc", p)) return no_memory();
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) {
    return handed_out(site, pktmalloc::reallocate_foreign(p, with_canary(bytes)), bytes, false);
  }
  const size_t old_bytes = inspect_canary(site, ", found when it was resized", id, p);
  if (resizes_in_place(id, with_canary(bytes))) {
    if (canaries) Canary::set(p, class_bytes(id), bytes);
    return p;
  }
  const size_t most = canaries ? 0 : heap.classes().largest();
  void* const moved = allocate_to_resize(old_bytes, bytes, most, [=](size_t room) {
    return allocate_slow(room, Family::kMalloc, site);
  });
  if (moved == nullptr) return bytes <= old_bytes ? p : nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  release_waited_at(site, id, set_freed(id, p, heap.state_of(id, p)));
  return moved;
}

size_t usable_size(void* p, Site site) {
  if (is_wrong(site, "malloc_usable_size", p)) return 0;
  const ClassId id = heap.class_of(p);
  return id == kNoClass ? pktmalloc::usable_size(p) : canary_of(id, p).bytes;
}

void inspect_copy_at(Site site, void* to, size_t bytes, ClassId id) {
  const uintptr_t start = heap.object_at(id, to);
  const size_t at = reinterpret_cast<uintptr_t>(to) - start;
  const auto* const object = reinterpret_cast<const void*>(start);
  const bool is_live = start != 0 && heap.state_of(id, object).is(ObjectStates::kLive);
  if (is_live && bytes <= class_bytes(id) - at) [[likely]]
    return;
  if (start != 0) inspect_copy_slow(site, to, bytes, id, object);
}

// What is not pooled, or wrong, or has a canary.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment) {
  if (p == nullptr) return;
  const Told told{family, bytes, alignment};
  if (is_wrong(site, name_of(told), p)) return;
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) return release_slow(p);
  const size_t real = inspect_canary(site, ", found when it was freed", id, p);
  // The C++ runtime's own aligned operator new, after a new-handler found memory, rounds up.
  const size_t rounded = alignment == kUntold ? bytes : round_up(bytes, alignment);
  if (canaries ? is_sized(told) && bytes != real && rounded != real : !fits(id, told)) {
    return tell(capture(site), facts_of(p, real, !canaries),
                "%s of %p with %zu bytes: an object of %s%zu bytes", name_of(told), p, bytes,
                canaries ? "" : "up to ", real);
  }
  // Without a canary: addresses were given back.
  release_waited_at(site, id, set_freed(id, p, heap.state_of(id, p)));
}

}  // namespace pktmalloc::twin

// What the library does in the life of the process.
namespace pktmalloc {
namespace {

using namespace hardened;

void start() {
  constexpr size_t kMostBytes = size_t{64} << 10;
  const bool clears_more = options().clear_bytes > kInspected;
  for (const ClassId id : heap.classes().ids()) {
    const size_t bytes = class_bytes(id);
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

// An access before the first object of a slab or a block, or behind the last.
bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  const auto* const p = reinterpret_cast<const void*>(heap.object_beside(address));
  if (p == nullptr) return false;
  tell_access(capture_interrupted(pc), facts_of(p, heap.bytes_of(heap.class_of(p), p)), what,
              address);
  return false;
}

void load() {
  if (is_observed()) end_waiting();
  start_stacks(size_t{1} << 20);  // only reports need stacks
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
