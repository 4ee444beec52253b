// SPDX-License-Identifier: MIT
#include "preload/hardened/hardened_entry.h"

#include <algorithm>
#include <cstring>

#include "preload/base/no_memory.h"
#include "preload/guard/sample_guard.h"
#include "preload/process/next_allocator.h"
#include "preload/recording/observer.h"
#include "preload/stacks/finding.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc::hardened {
namespace {

size_t class_bytes(uintptr_t owner) {
  return heap.classes()[static_cast<ClassId>(owner)].object_bytes;
}

// Of an object of which only the class is known.
Facts facts_of(const void* p, size_t bytes) { return {.user = p, .bytes = bytes, .is_most = true}; }

// Of a pointer among our units that is not the start of a live object, and goes into `call`.
void tell_wrong(Site site, const char* call, const void* p) {
  const KeepErrno keep;
  // Of a unit that no class has any more, the states are still there.
  const ClassId former = heap.former_class(p);
  const uintptr_t owner = former != kNoClass ? index(former) : heap.owner(p);
  const ClassId id = static_cast<ClassId>(owner);
  const uintptr_t start =
      former != kNoClass && is_start(p) ? reinterpret_cast<uintptr_t>(p) : heap.object_at(id, p);
  const auto* const object = reinterpret_cast<const void*>(start);
  const ObjectStates::State state =
      start == 0 ? ObjectStates::kNone : heap.state_of(id, object).state();
  Facts facts = facts_of(object, class_bytes(owner));
  facts.is_freed = state == ObjectStates::kFreed;
  tell_wrong_pointer(capture(site), state == ObjectStates::kNone ? Facts{} : facts, call, p);
}

bool has_canary(ClassId id, const void* p) {
  return heap.state_of(id, p).is(ObjectStates::kLiveWithCanary);
}

void tell_mismatch(Site site, const void* p, const Told& told, size_t bytes) {
  const KeepErrno keep;
  const char* const most = has_canary(static_cast<ClassId>(heap.owner(p)), p) ? "" : "up to ";
  tell(capture(site), facts_of(p, bytes), "%s of %p with %zu bytes: an object of %s%zu bytes",
       name_of(told), p, told.bytes, most, bytes);
}

// Does an object in use, with a canary or without, begin at p, which lies in a slab of the class?
bool is_in_use(ClassId id, const void* p) {
  return is_start(p) && (heap.state_of(id, p).is(ObjectStates::kLive) || has_canary(id, p));
}

// Tells if a canary is not as it was. The bytes that were asked for, as far as they are known.
size_t inspect_canary(Site site, const char* found, ClassId id, const void* p) {
  const size_t object_bytes = heap.classes()[id].object_bytes;
  if (!has_canary(id, p)) return object_bytes;
  const Canary canary = read_canary(p, object_bytes);
  if (canary.whole) return canary.bytes;
  const KeepErrno keep;
  Facts facts = facts_of(p, canary.bytes);
  const auto* const behind = static_cast<const char*>(p) + object_bytes;
  if (canary.word_whole) {
    facts.is_most = false;
    tell_access(capture(site), facts, "write", reinterpret_cast<uintptr_t>(p) + canary.first,
                found);
  } else {
    tell(capture(site), facts,
         "write past the end of %p, an object of up to %zu bytes, or before %p%s", p, canary.bytes,
         behind, found);
  }
  return canary.bytes;
}

void tell_handed_out_twice(Site site, void* p) {
  const size_t bytes = class_bytes(heap.owner(p));
  tell(capture(site), facts_of(p, bytes),
       "double free of %p, an object of up to %zu bytes, found when it was handed out twice", p,
       bytes);
}

// An object that no cache holds any more is in use from now on.
void set_live(Site site, ClassId id, void* p) {
  if (is_in_use(id, p)) tell_handed_out_twice(site, p);
  heap.state_of(id, p).set(ObjectStates::kLive);
}

void inspect(Site site, ClassId id, void* p) {
  if (!is_untouched(id, p)) tell_written(site, p);
}

// What the slower functions got: pooled or not.
void* handed_out(Site site, void* p, size_t bytes, bool blank_before) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return p;
  const ClassId id = static_cast<ClassId>(owner);
  set_live(site, id, p);
  if (blank_before) inspect(site, id, p);
  if (canaries) {
    heap.state_of(id, p).set(ObjectStates::kLiveWithCanary);
    set_canary(p, class_bytes(owner), bytes);
  }
  return p;
}

// `object` is not live, has a canary, or is too small.
[[gnu::noinline]] void inspect_copy_slow(Site site, const void* to, size_t bytes, ClassId id,
                                         const void* object) {
  const size_t object_bytes = heap.classes()[id].object_bytes;
  const bool in_use = is_in_use(id, object), guarded = has_canary(id, object);
  const Canary canary =
      guarded ? read_canary(object, object_bytes) : Canary{object_bytes, false, false, 0};
  const auto at =
      static_cast<size_t>(static_cast<const char*>(to) - static_cast<const char*>(object));
  if (in_use && at <= canary.bytes && bytes <= canary.bytes - at) return;
  if (in_use || in_this_library(site.pc)) {
    Facts facts = facts_of(object, canary.bytes);
    facts.is_most = !canary.word_whole;
    return tell_copy(site, facts, to);
  }
  tell_wrong(site, "memcpy or memmove", to);
}

// Of what goes into `call`: neither an object in use nor another allocator's? Tells.
bool is_wrong(Site site, const char* call, const void* p) {
  const uintptr_t owner = heap.owner(p);
  const bool is_right =
      Heap::is_class(owner) ? is_in_use(static_cast<ClassId>(owner), p) : !heap.is_nobodys(p);
  if (!is_right) tell_wrong(site, call, p);
  return !is_right;
}

}  // namespace

void* hand_out_suspicious_at(Site site, ClassId id, void* p) {
  set_live(site, id, p);
  inspect(site, id, p);
  return p;
}

void tell_written(Site site, void* p) {
  const KeepErrno keep;
  const size_t bytes = class_bytes(heap.owner(p));
  const auto* const begin = static_cast<const char*>(p);
  const char* const end = begin + std::min(bytes, kInspected);
  const char* const first = std::find_if(begin, end, [](char c) { return c != 0; });
  const bool at_exit = site.pc == 0;
  tell_access(at_exit ? 0 : capture(site), facts_of(p, bytes), "write",
              reinterpret_cast<uintptr_t>(first),
              at_exit ? ", found at exit" : ", found when its memory was to be used again");
}

void release_waited_at(Site site, ClassId id, void* p) {
  if (!is_head_blank(p)) tell_written(site, p);
  memset(p, 0, cleared_bytes[index(id)]);
  release_pooled(id, p);
}

}  // namespace pktmalloc::hardened

namespace pktmalloc::twin {

using namespace hardened;

void* allocate_at(Site site, size_t bytes, Family) {
  if (bytes == 0) {
    if (void* p = allocate_nothing()) {
      if (is_observed()) tell_allocated(p, 0, 0);
      return p;
    }
  }
  const size_t all = with_canary(bytes);
  // With canaries everything comes here, so first what the thread has itself.
  void* p = nullptr;
  if (canaries && all <= ClassTable::kSmallLimit) {
    p = this_thread.allocates_from->allocate(heap.classes().small(all));
  }
  return handed_out(site, p != nullptr ? p : pktmalloc::allocate_slow(all), bytes, true);
}

size_t room_for(size_t bytes) { return with_canary(bytes); }

void* allocate_zeroed_at(Site site, size_t count, size_t bytes_each, size_t bytes) {
  if (bytes == 0) return allocate_at(site, 0, Family::kMalloc);
  if (canaries) count = 1, bytes_each = with_canary(bytes);
  return handed_out(site, pktmalloc::allocate_zeroed(count, bytes_each, with_canary(bytes)), bytes,
                    false);
}

void* allocate_aligned_at(Site site, size_t alignment, size_t bytes, Family family) {
  if (bytes == 0 && alignment <= ClassTable::kSmallStep) return allocate_at(site, 0, family);
  return handed_out(site, pktmalloc::allocate_aligned(alignment, with_canary(bytes)), bytes, true);
}

void* reallocate_at(Site site, void* p, size_t bytes) {
  if (is_wrong(site, "realloc", p)) return no_memory();
  const uintptr_t owner = heap.owner(p);
  const ClassId id = static_cast<ClassId>(owner);
  if (!Heap::is_class(owner)) {
    return handed_out(site, pktmalloc::reallocate_foreign(p, with_canary(bytes)), bytes, false);
  }
  const bool guarded = has_canary(id, p);
  const size_t old_bytes = inspect_canary(site, ", found when it was resized", id, p);
  if (resizes_in_place(owner, bytes + (guarded ? kCanaryBytes : 0))) {
    if (guarded) set_canary(p, class_bytes(owner), bytes);
    return p;
  }
  void* const moved = allocate_at(site, bytes, Family::kMalloc);
  if (moved == nullptr) return bytes <= old_bytes ? p : nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  set_freed(site, id, p, heap.state_of(id, p));
  return moved;
}

size_t usable_size_at(Site site, void* p) {
  if (is_wrong(site, "malloc_usable_size", p)) return 0;
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return pktmalloc::usable_size(p);
  const size_t object_bytes = class_bytes(owner);
  return has_canary(static_cast<ClassId>(owner), p) ? read_canary(p, object_bytes).bytes
                                                    : object_bytes;
}

void inspect_copy_at(Site site, void* to, size_t bytes, ClassId id) {
  const uintptr_t start = heap.object_at(id, to);
  const size_t object_bytes = heap.classes()[id].object_bytes;
  const size_t at = reinterpret_cast<uintptr_t>(to) - start;
  const auto* const object = reinterpret_cast<const void*>(start);
  const bool is_live = start != 0 && heap.state_of(id, object).is(ObjectStates::kLive);
  if (is_live && bytes <= object_bytes - at) [[likely]]
    return;
  if (start != 0) inspect_copy_slow(site, to, bytes, id, object);
}

// What is not pooled, or wrong, or has a canary.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment) {
  const Told told{family, bytes, alignment};
  if (is_wrong(site, name_of(told), p)) return;
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return release_slow(p);
  const ClassId id = static_cast<ClassId>(owner);
  const bool guarded = has_canary(id, p);
  const size_t bytes_asked = inspect_canary(site, ", found when it was freed", id, p);
  const bool right = guarded ? !is_sized(told) || told.bytes == bytes_asked : fits(owner, told);
  if (!right) return tell_mismatch(site, p, told, bytes_asked);
  set_freed(site, id, p, heap.state_of(id, p));  // without a canary: addresses were given back
}

}  // namespace pktmalloc::twin
