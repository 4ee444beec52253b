// SPDX-License-Identifier: MIT
// Checked entry: the calls of the checked library (serving/twin_calls.h).
//
// find_object looks up every pointer that comes in: it may be an object, inside one, or unknown. An
// unknown one goes to the next allocator, as in the normal library, unless it certainly belongs to
// no heap. Raw memory comes from fast_path.h.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/checked/inspection.h"
#include "preload/checked/lookup.h"
#include "preload/checked/quarantine.h"
#include "preload/process/fault_signal.h"
#include "preload/process/next_allocator.h"
#include "preload/process/process.h"
#include "preload/serving/fast_path.h"
#include "preload/serving/twin_calls.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc::twin {

using namespace checked;

namespace {

constexpr const char* kAllocators[] = {"malloc", "operator new", "operator new[]"};  // by family

// The C++ runtime's own operator new calls malloc when ours has failed and the new-handler found
// memory, or when the runtime was linked statically; its operator new[] calls operator new. Then
// its name is in the stack, or, where it jumped there, our call of it.
bool allocated_by_runtime(const Object& object) {
  if (object.head.family() == Family::kNewArray) return false;
  uintptr_t frames[1];
  return frames_of(object.record->allocated_at, frames, 1) > 0 &&
         (in_this_library(frames[0]) || strncmp(function_at(frames[0]).name, "_Zn", 3) == 0);
}

// Does the call agree with how the object was allocated?
bool fits(Head head, const Told& told) {
  if (head.family() != told.family) return false;
  if (told.bytes != kUntold && told.bytes != head.bytes()) return false;
  // free() and realloc() take any alignment; the other functions must pass the right one.
  if (told.family == Family::kMalloc && told.bytes == kUntold) return true;
  return head.alignment() == (told.alignment == kUntold ? 0 : told.alignment);
}

[[gnu::cold]] void tell_mismatch(const char* call, Object object, Told told, StackId now) {
  if (allocated_by_runtime(object)) return;
  Facts facts = facts_of(object);
  facts.freed_at = 0;  // this very call frees it
  const Head head = object.head;
  if (head.family() != told.family) {
    tell(now, facts, "%s of %p, which %s allocated: an object of %zu bytes", call, facts.user,
         kAllocators[static_cast<unsigned>(head.family())], facts.bytes);
  } else if (told.bytes != kUntold && told.bytes != facts.bytes) {
    tell(now, facts, "%s of %p with %zu bytes: an object of %zu bytes", call, facts.user,
         told.bytes, facts.bytes);
  } else {
    char claimed[40] = "without alignment";
    if (told.alignment != kUntold) {
      snprintf(claimed, sizeof claimed, "with alignment %zu", told.alignment);
    }
    char real[40] = "without";
    if (head.alignment() != 0) snprintf(real, sizeof real, "with %zu", head.alignment());
    tell(now, facts, "%s of %p %s: an object of %zu bytes, allocated %s", call, facts.user, claimed,
         facts.bytes, real);
  }
}

// True if the pointer, which belongs to no object of ours, cannot come from another allocator.
bool tell_unknown(const char* call, void* p, StackId now) {
  if (heap.owns(p) || is_guarded(p) || heap.is_nobodys(p)) {
    const Object freed = find_freed_block(p);
    tell_wrong_pointer(now, freed ? facts_of(freed) : Facts{}, call, p);
    return true;
  }
  const KeepErrno keep_errno;
  char buffer[120];
  const char* why = why_no_heap(p, buffer, sizeof buffer);
  if (why != nullptr) tell(now, Facts{}, "%s of %p, %s", call, p, why);
  return why != nullptr;
}

// Is p, which goes into a call that will use or free it, the beginning of that live object? If not,
// tells.
bool is_live(const char* call, const Object& object, void* p, StackId now) {
  if (object.user == p && object.head.is_live()) return true;
  tell_wrong_pointer(now, facts_of(object), call, p);
  return false;
}

// Marks a live object as freed; tells if somebody else has come first.
inline bool claim(const char* call, Object& object, StackId now) {
  Head head = std::exchange(object.head, object.head.freed());
  if (has_one_thread()) {
    object.record->head.store(object.head, std::memory_order_relaxed);
  } else if (!object.record->head.compare_exchange_strong(head, object.head,
                                                          std::memory_order_acq_rel)) [[unlikely]] {
    object.head = head;
    tell_wrong_pointer(now, facts_of(object), call, object.user);
    return false;
  }
  object.record->freed_at = now;
  return true;
}

// Of any place, rightly or wrongly.
[[gnu::noinline]] void release_any(void* p, Told told, StackId now) {
  const char* const call = name_of(told);
  Object object = find_object(p);
  if (!object && !tell_unknown(call, p, now)) return release_slow(p);
  if (!object || !is_live(call, object, p, now) || !claim("free", object, now)) return;
  if (!fits(object.head, told)) tell_mismatch(call, object, told, now);
  inspect_edges(object, now);
  quarantine(object, heap.class_of(p));
}

// Total size of an unguarded object; if it is too large, more than there is.
size_t raw_bytes(size_t alignment, size_t bytes) {
  if (bytes > kMostBytes || alignment > kMostBytes) return PTRDIFF_MAX;
  return front_bytes(alignment) + bytes + kLeastBack;
}

// Dresses raw memory, for which raw_bytes() were asked. Memory from the next allocator is ours only
// if the table has room, and not in fork handlers, whose thread holds its lock: otherwise the
// program gets it as it is, and it will come back as a foreign pointer.
[[gnu::noinline]] void* hand_out(Site site, void* raw, size_t alignment, size_t bytes,
                                 Family family, size_t room = 0) {
  if (raw == nullptr || (!heap.spans(raw) && this_thread.forking)) return raw;
  char* const begin = static_cast<char*>(raw);
  const Place place = heap.spans(raw)
                          ? pooled_place(heap.class_of(raw), raw)
                          : add_large(begin, begin + front_bytes(alignment),
                                      begin + raw_bytes(alignment, std::max(bytes, room)));
  if (place.record == nullptr) return raw;
  return dress(place, alignment, bytes, family, capture(site));
}

// nullptr: not a guarded request.
void* hand_out_guarded(Site site, size_t bytes, Family family) {
  if (bytes != 0 && guarded_class == kNoClass) return nullptr;
  const Place place = allocate_guarded(bytes);
  return place.record == nullptr ? nullptr : dress(place, 0, bytes, family, capture(site));
}

[[gnu::noinline]] void* allocate_any(Site site, size_t bytes, Family family) {
  if (void* p = hand_out_guarded(site, bytes, family)) return p;
  return hand_out(site, pktmalloc::allocate_slow(raw_bytes(0, bytes)), 0, bytes, family);
}

void* reallocate_unknown(Site site, void* p, size_t bytes, StackId now) {
  if (tell_unknown("realloc", p, now)) return no_memory();
  const size_t old_bytes = next_allocator().usable_size(p);
  if (old_bytes == 0) return next_allocator().reallocate(p, bytes);
  void* moved = allocate_slow(bytes, Family::kMalloc, site);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  release_slow(p);
  return moved;
}

// Only while the request fits and fills half of the space, and if nothing tells from then on that
// the object had an alignment: to whoever frees it, realloc allocated it.
bool fits_in_place(const Object& object, size_t bytes) {
  const size_t room = static_cast<size_t>(object.end - object.user) - kLeastBack;
  return !is_guarded(object.user) && bytes <= room && bytes * 2 >= room &&
         object.head.front() == kFront;
}

}  // namespace

// Nearly every request, small and from the thread's magazines: on one screen, without a call.
void* allocate_slow(size_t bytes, Family family, Site site) {
  constexpr size_t kDress = kFront + kLeastBack;
  if (bytes - 1 < ClassTable::kSmallLimit - kDress && guarded_class == kNoClass) [[likely]] {
    const ClassId id = heap.classes().small(bytes + kDress);
    if (void* raw = this_thread.allocates_from->allocate(id, false)) [[likely]]
      return dress(pooled_place(id, raw), 0, bytes, family, capture(site));
  }
  return allocate_any(site, bytes, family);
}

size_t room_for(size_t bytes) { return raw_bytes(0, bytes); }

void* allocate_aligned(size_t alignment, size_t bytes, Family family, Site site) {
  void* raw =
      pktmalloc::allocate_aligned(std::max<size_t>(alignment, 16), raw_bytes(alignment, bytes));
  return hand_out(site, raw, alignment, bytes, family);
}

void* allocate_zeroed(size_t bytes, Site site) {
  if (void* p = hand_out_guarded(site, bytes, Family::kMalloc)) return memset(p, 0, bytes);
  return hand_out(site, pktmalloc::allocate_zeroed(raw_bytes(0, bytes)), 0, bytes, Family::kMalloc);
}

// Nearly every object is in the pool, live, without an alignment, and as the caller says.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment) {
  if (p == nullptr) return;
  // Nobody may have touched the object for long. Prefetch its two ends while the stack is compared.
  char* const user = static_cast<char*>(p);
  __builtin_prefetch(user - kFront);
  __builtin_prefetch(user + 64);
  const StackId now = capture(site);
  const ClassId id = heap.class_of(p);
  if (id != kNoClass && reinterpret_cast<uintptr_t>(p) % kFront == 0 && alignment == kUntold)
      [[likely]] {
    const Place place = pooled_place(id, user - kFront);
    const Head head = place.record->head.load(std::memory_order_acquire);
    if (head.is_plain_live_of(reinterpret_cast<uintptr_t>(place.raw), family) &&
        (bytes == kUntold || bytes == head.bytes())) [[likely]] {
      Object object{place.record, user, place.end, head};
      if (!claim("free", object, now)) return;
      inspect_edges(object, now);
      return quarantine(object, id);
    }
  }
  release_any(p, {family, bytes, alignment}, now);
}

void* reallocate(void* p, size_t bytes, Site site) {
  const StackId now = capture(site);
  Object object = find_object(p);
  if (!object) return reallocate_unknown(site, p, bytes, now);
  if (!is_live("realloc", object, p, now)) return no_memory();
  if (!fits(object.head, Told{})) tell_mismatch("realloc", object, Told{}, now);
  inspect_edges(object, now);
  if (fits_in_place(object, bytes)) {
    // Freed meanwhile: another thread's free comes too early, or too late.
    if (!claim("realloc", object, now)) return no_memory();
    return dress({object.record, object.raw(), object.end}, 0, bytes, object.head.family(),
                 object.record->allocated_at);
  }
  const size_t most = guarded_class == kNoClass ? kMostBytes : 0;
  void* const moved = allocate_to_resize(object.bytes(), bytes, most, [=](size_t room) {
    if (room == bytes) return allocate_slow(bytes, Family::kMalloc, site);
    void* const raw = pktmalloc::allocate_slow(raw_bytes(0, room));
    return hand_out(site, raw, 0, bytes, Family::kMalloc, room);
  });
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(object.bytes(), bytes));
  if (claim("realloc", object, now)) quarantine(object, heap.class_of(p));
  return moved;
}

size_t usable_size(void* p, Site site) {
  if (p == nullptr) return 0;
  const StackId now = capture(site);
  const char* const call = "malloc_usable_size";
  if (const Object object = find_object(p))
    return is_live(call, object, p, now) ? object.bytes() : 0;
  return tell_unknown(call, p, now) ? 0 : pktmalloc::usable_size(p);
}

void inspect_copy_at(Site site, void* to, size_t bytes, ClassId) {
  const Object object = find_object(to);
  if (!object) return;
  const size_t at = static_cast<size_t>(static_cast<char*>(to) - object.user);
  const bool is_inside = at <= object.bytes() && bytes <= object.bytes() - at;
  if (!is_inside || !object.head.is_live()) [[unlikely]]
    tell_copy(site, facts_of(object), to);
}

}  // namespace pktmalloc::twin

// What the library does in the life of the process.
namespace pktmalloc {
namespace {

using namespace checked;

// An access that the processor refused, where that tells of an object: in a guard page, in a large
// object that waits after free, or beyond the end of a slab.

bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  if (address < 65536) return false;  // programs with a runtime of their own let these come often
  void* const p = reinterpret_cast<void*>(address);
  if (const auto* const raw = reinterpret_cast<const void*>(heap.object_beside(address))) {
    const Object last = find_object(raw);
    const Facts most{.user = raw, .bytes = heap.bytes_of(heap.class_of(raw), raw), .is_most = true};
    tell_access(capture_interrupted(pc), last ? facts_of(last) : most, what, address);
    return false;
  }
  // Behind what is told below, only in report mode: from now on the access is allowed.
  if (is_guarded(p)) {
    const Object guarded = find_guarded(p);
    if (!guarded || p < guarded.end) return false;
    tell_access(capture_interrupted(pc), facts_of(guarded), what, address);
    return open_page(address);
  }
  const Object freed = find_object(p);
  if (!freed || freed.head.is_live()) return false;
  if (recent.at_work) return open_page(address);  // the program had protected it
  if (heap.owns(p)) return false;
  tell_access(capture_interrupted(pc), facts_of(freed), what, address);
  return expose(freed);
}

void load() {
  start_quarantine(options().quarantine_bytes, options().quarantine_rate);
  start_guard(options().guard_size);
  watch_faults(on_fault);
  load_unwinder();
}

void at_exit() {
  leave_quarantine(0, false);
  inspect_all();
}

}  // namespace

constinit const Part checks_part{
    .start = [] { start_stacks(); },
    .load = load,
    .thread_exit = [] { leave_quarantine(options().quarantine_bytes); },
    .refused = [](size_t) { return leave_quarantine(0), true; },
    .exit = at_exit,
    .mutexes = {&large_objects_mutex, &quarantine_mutex},
};

}  // namespace pktmalloc
