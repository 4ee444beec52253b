// SPDX-License-Identifier: MIT
#include "preload/checked/checked_entry.h"

#include <algorithm>
#include <cstdio>

#include "preload/base/newer_libc.h"
#include "preload/base/no_memory.h"
#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/checked/quarantine.h"
#include "preload/process/next_allocator.h"
#include "preload/serving/fast_path.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc::checked {
namespace {

const char* name_of(Family family) {
  return family == Family::kMalloc ? "malloc"
         : family == Family::kNew  ? "operator new"
                                   : "operator new[]";
}

// The C++ runtime's own operator new calls malloc when ours has failed and the new-handler found
// memory, or when the runtime was linked statically. Then its name is in the stack.
bool allocated_by_runtime(const Header& header) {
  if (header.family() != Family::kMalloc) return false;
  uintptr_t frames[kStackFrames];
  unsigned count = frames_of(header.allocated_at, frames), i = 0;
  while (i < count && in_this_library(frames[i])) ++i;
  return i < count && strncmp(function_at(frames[i]).name, "_Zn", 3) == 0;
}

// Does the call agree with how the object was allocated?
bool fits(const Header& header, const Told& told) {
  if (header.family() != told.family) return false;
  if (told.bytes != kUntold && told.bytes != header.bytes) return false;
  // free() and realloc() take any alignment; the other functions must pass the right one.
  if (told.family == Family::kMalloc && told.bytes == kUntold) return true;
  return header.alignment() == (told.alignment == kUntold ? 0 : told.alignment);
}

[[gnu::cold]] void tell_mismatch(const char* call, const Header& header, const Told& told,
                                 StackId now) {
  if (allocated_by_runtime(header)) return;
  const Facts facts = facts_of(header);
  if (header.family() != told.family) {
    tell(now, facts, "%s of %p, which %s allocated: an object of %zu bytes", call, facts.user,
         name_of(header.family()), facts.bytes);
  } else if (told.bytes != kUntold && told.bytes != header.bytes) {
    tell(now, facts, "%s of %p with %zu bytes: an object of %zu bytes", call, facts.user,
         told.bytes, facts.bytes);
  } else {
    char claimed[40] = "without alignment";
    if (told.alignment != kUntold) {
      snprintf(claimed, sizeof claimed, "with alignment %zu", told.alignment);
    }
    char real[40] = "without";
    if (header.alignment() != 0) snprintf(real, sizeof real, "with %zu", header.alignment());
    tell(now, facts, "%s of %p %s: an object of %zu bytes, allocated %s", call, facts.user, claimed,
         facts.bytes, real);
  }
}

// True if the pointer, which belongs to no object of ours, cannot come from another allocator.
bool tell_unknown(const char* call, void* p, StackId now) {
  if (Header* header = find_overwritten(p)) {
    tell_overwritten(call, *header, now);
    header->unseal();  // so that it is not reported again at exit
    return true;
  }
  if (Heap::is_class(heap.owner(p)) || is_guarded(p) || heap.is_nobodys(p)) {
    tell_wrong_pointer(now, Facts{}, call, p);
    return true;
  }
  const KeepErrno keep_errno;
  char buffer[120];
  const char* why = why_no_heap(p, buffer, sizeof buffer);
  if (why != nullptr) tell(now, Facts{}, "%s of %p, %s", call, p, why);
  return why != nullptr;
}

// The freed pointer is not the beginning of an object.
[[gnu::cold, gnu::noinline]] void release_other(const Header* around, void* p, Told told,
                                                StackId now) {
  const char* const call = name_of(told);
  if (around != nullptr) {
    tell_wrong_pointer(now, facts_of(*around), call, p);
  } else if (!tell_unknown(call, p, now)) {
    release_slow(p);
  }
}

// The live object that begins at p, for a call that will use or free it. nullptr: reported, or p is
// unknown, as `unknown` says.
Header* live_object(const char* call, void* p, StackId now, bool& unknown) {
  Header* header = find_object(p);
  unknown = header == nullptr;
  if (unknown) return nullptr;
  if (header->user() == p && header->freed_at.load(std::memory_order_relaxed) == 0) return header;
  tell_wrong_pointer(now, facts_of(*header), call, p);
  return nullptr;
}

[[gnu::cold, gnu::noinline]] void tell_double_free(Header& header, StackId now) {
  const Facts facts = facts_of(header);
  if (!is_stack(facts.freed_at)) {
    header.freed_at = now;  // so that it is not told again at exit
    return tell_overwritten("free", header, now);
  }
  tell_wrong_pointer(now, facts, "free", facts.user);
}

// Marks it as freed; reports it if somebody else already has.
inline bool claim(Header& header, StackId now) {
  StackId live = 0;
  if (has_one_thread()) {
    live = header.freed_at.load(std::memory_order_relaxed);
    if (live == 0) header.freed_at.store(now, std::memory_order_relaxed);
  } else {
    header.freed_at.compare_exchange_strong(live, now, std::memory_order_acq_rel);
  }
  if (live != 0) [[unlikely]]
    tell_double_free(header, now);
  return live == 0;
}

// Total size of an unguarded object; 0 if it is too large.
size_t raw_bytes(size_t alignment, size_t bytes) {
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return 0;
  const size_t all = front_bytes(alignment) + bytes + kLeastBack;
  return all > PTRDIFF_MAX ? 0 : all;
}

// Dresses raw memory, for which `all` bytes were asked. Memory from the next allocator is ours only
// if the table has room, and not in fork handlers, whose thread holds its lock: otherwise the
// program gets it as it is, and it will come back as a foreign pointer.
[[gnu::noinline]] void* hand_out(Site site, void* raw, size_t all, size_t alignment, size_t bytes,
                                 Family family) {
  const uintptr_t owner = heap.owner(raw);
  const bool pooled = Heap::is_class(owner);
  if (raw == nullptr || (!pooled && this_thread.forking)) return raw;
  const size_t room = pooled ? heap.classes()[static_cast<ClassId>(owner)].object_bytes : all;
  Header* header = dress(raw, room, alignment, bytes, family, capture(site));
  return pooled || add_large(header) ? header->user() : raw;
}

// nullptr: not a guarded request.
void* hand_out_guarded(Site site, size_t bytes, Family family) {
  void* raw = allocate_guarded(bytes);
  if (raw == nullptr) return nullptr;
  return dress(raw, guarded_room(raw), 0, bytes, family, capture(site))->user();
}

[[gnu::noinline]] void* allocate_any(Site site, size_t bytes, Family family) {
  const size_t all = raw_bytes(0, bytes);
  if (all == 0) return no_memory();
  if (void* p = hand_out_guarded(site, bytes, family)) return p;
  return hand_out(site, pktmalloc::allocate_slow(all), all, 0, bytes, family);
}

void* reallocate_unknown(Site site, void* p, size_t bytes, StackId now) {
  if (tell_unknown("realloc", p, now)) return no_memory();
  const size_t old_bytes = next_allocator().usable_size(p);
  if (old_bytes == 0) return next_allocator().reallocate(p, bytes);
  void* moved = allocate_at(site, bytes, Family::kMalloc);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  release_slow(p);
  return moved;
}

// Only while the request fits and fills half of the space, and if nothing tells from then on that
// the object had an alignment: to whoever frees it, realloc allocated it.
bool resize_in_place(Header& header, size_t bytes) {
  const size_t room = header.bytes + header.back() - kLeastBack;
  if (is_guarded(&header) || bytes > room || bytes * 2 < room) return false;
  if (front_bytes(header.alignment()) != front_bytes(0)) return false;
  header.unseal();
  const size_t back = std::min(header.bytes + header.back() - bytes, kMostBack);
  header.set_shape(header.family(), 0, back);
  header.bytes = bytes;
  fill(back_of(header), kBackByte, back);
  header.seal();
  return true;
}

}  // namespace

}  // namespace pktmalloc::checked

namespace pktmalloc::twin {

using namespace checked;

// Nearly every request, small and from the thread's magazines: on one screen, without a call.
void* allocate_at(Site site, size_t bytes, Family family) {
  constexpr size_t kDress = sizeof(Header) + kLeastBack;
  if (bytes - 1 < ClassTable::kSmallLimit - kDress && !guards_class) [[likely]] {
    const ClassId id = heap.classes().small(bytes + kDress);
    if (void* raw = this_thread.allocates_from->allocate(id)) [[likely]] {
      const size_t room = heap.classes()[id].object_bytes;
      return dress(raw, room, 0, bytes, family, capture(site))->user();
    }
  }
  return allocate_any(site, bytes, family);
}

size_t room_for(size_t bytes) { return raw_bytes(0, bytes); }

void* allocate_aligned_at(Site site, size_t alignment, size_t bytes, Family family) {
  const size_t all = raw_bytes(alignment, bytes);
  if (all == 0) return no_memory();
  void* raw = pktmalloc::allocate_aligned(std::max<size_t>(alignment, 16), all);
  return hand_out(site, raw, all, alignment, bytes, family);
}

void* allocate_zeroed_at(Site site, size_t, size_t, size_t bytes) {
  const size_t all = raw_bytes(0, bytes);
  if (all == 0) return no_memory();
  // In the pool the dress comes first: if zeroed with its header, it would look overwritten.
  if (heap.started() && bytes <= heap.classes().largest()) {
    void* p = allocate_at(site, bytes, Family::kMalloc);
    return p != nullptr ? memset(p, 0, bytes) : nullptr;
  }
  return hand_out(site, pktmalloc::allocate_zeroed(1, all, all), all, 0, bytes, Family::kMalloc);
}

void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment) {
  if (p == nullptr) return;
  // Nobody may have touched the object for long. Prefetch its two ends while the stack is compared.
  __builtin_prefetch(header_of(p));
  __builtin_prefetch(static_cast<char*>(p) + 64);
  const Told told{family, bytes, alignment};
  const StackId now = capture(site);
  Header* header = find_object(p);
  if (header == nullptr || header->user() != p) [[unlikely]]
    return release_other(header, p, told, now);
  if (claim(*header, now)) [[likely]] {
    if (!fits(*header, told)) [[unlikely]]
      tell_mismatch(name_of(told), *header, told, now);
    inspect_edges(*header, now);
    quarantine(*header);
  }
}

void* reallocate_at(Site site, void* p, size_t bytes) {
  const StackId now = capture(site);
  bool unknown;
  Header* header = live_object("realloc", p, now, unknown);
  if (unknown) return reallocate_unknown(site, p, bytes, now);
  if (header == nullptr) return no_memory();
  if (!fits(*header, Told{})) tell_mismatch("realloc", *header, Told{}, now);
  inspect_edges(*header, now);
  if (resize_in_place(*header, bytes)) return p;
  void* moved = allocate_at(site, bytes, Family::kMalloc);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min<size_t>(header->bytes, bytes));
  if (claim(*header, now)) quarantine(*header);
  return moved;
}

size_t usable_size_at(Site site, void* p) {
  if (p == nullptr) return 0;
  bool unknown;
  const StackId now = capture(site);
  if (Header* header = live_object("malloc_usable_size", p, now, unknown)) return header->bytes;
  if (!unknown || tell_unknown("malloc_usable_size", p, now)) return 0;
  return pktmalloc::usable_size(p);
}

void inspect_copy_at(Site site, void* to, size_t bytes, ClassId) {
  const Header* const header = find_object_slow(to);  // most copies begin inside of objects
  if (header == nullptr) return;
  const size_t at =
      static_cast<size_t>(static_cast<char*>(to) - static_cast<char*>(header->user()));
  const bool fits = at <= header->bytes && bytes <= header->bytes - at;
  if (!fits || header->freed_at.load(std::memory_order_relaxed) != 0) [[unlikely]]
    tell_copy(site, facts_of(*header), to);
}

}  // namespace pktmalloc::twin
