// SPDX-License-Identifier: MIT
#include "preload/checked/checked_entry.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "preload/checked/guard.h"
#include "preload/checked/inspection.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/checked/quarantine.h"
#include "preload/checked/symbols.h"
#include "preload/entry.h"
#include "preload/next_allocator.h"

namespace pktmalloc::checked {
namespace {

const char* name_of(Family family) {
  return family == Family::kMalloc ? "malloc"
         : family == Family::kNew  ? "operator new"
                                   : "operator new[]";
}

const char* name_of(const Told& told) {
  if (told.family == Family::kNew) return "operator delete";
  if (told.family == Family::kNewArray) return "operator delete[]";
  return told.alignment != kUntold ? "free_aligned_sized"
         : told.bytes != kUntold   ? "free_sized"
                                   : "free";
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

// The C++ runtime's own operator new asks malloc: when ours has failed and the new-handler found
// memory, or when the runtime was linked statically. Then its name is in the stack.
bool allocated_by_runtime(const Header& header) {
  if (header.family != Family::kMalloc) return false;
  uintptr_t frames[kStackFrames];
  unsigned count = frames_of(header.allocated_at, frames);
  unsigned i = 0;
  while (i < count && in_this_library(frames[i])) ++i;
  return i < count && strncmp(function_of(frames[i]), "_Zn", 3) == 0;
}

void inspect_told(const char* call, const Header& header, const Told& told, StackId now) {
  const bool by_family = header.family != told.family;
  const bool by_bytes = told.bytes != kUntold && told.bytes != header.bytes;
  // free() and realloc() take any alignment; the other functions must be told the right one.
  const bool minds_alignment = told.family != Family::kMalloc || told.bytes != kUntold;
  const size_t alignment = told.alignment == kUntold ? 0 : told.alignment;
  const bool by_alignment = minds_alignment && alignment != header.alignment();
  if (!by_family && !by_bytes && !by_alignment) [[likely]]
    return;
  if (allocated_by_runtime(header)) return;
  const Facts facts(header);
  if (by_family) {
    tell(now, facts, "%s of %p, which %s allocated: an object of %zu bytes", call, facts.user,
         name_of(header.family), facts.bytes);
  } else if (by_bytes) {
    tell(now, facts, "%s of %p with %zu bytes: an object of %zu bytes", call, facts.user,
         told.bytes, facts.bytes);
  } else {
    char claimed[40] = "without alignment";
    if (alignment != 0) snprintf(claimed, sizeof claimed, "with alignment %zu", alignment);
    char real[40] = "without";
    if (header.alignment() != 0) snprintf(real, sizeof real, "with %zu", header.alignment());
    tell(now, facts, "%s of %p %s: an object of %zu bytes, allocated %s", call, facts.user, claimed,
         facts.bytes, real);
  }
}

void tell_inside(const char* call, const void* p, const Header& header, StackId now) {
  const Facts facts(header);
  const ptrdiff_t at = static_cast<const char*>(p) - static_cast<const char*>(facts.user);
  const ptrdiff_t end = static_cast<ptrdiff_t>(facts.bytes);
  if (at < 0) {
    tell(now, facts, "%s of %p: %td bytes before an object of %td bytes", call, p, -at, end);
  } else if (at < end) {
    tell(now, facts, "%s of %p: %td bytes inside an object of %td bytes", call, p, at, end);
  } else {
    tell(now, facts, "%s of %p: %td bytes behind an object of %td bytes", call, p, at - end, end);
  }
}

// True if the pointer, which no object of ours has, cannot have come from another allocator.
bool tell_unknown(const char* call, const void* p, StackId now) {
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner) || in_guarded(p)) {
    const uintptr_t raw =
        Heap::is_class(owner) ? heap.object_at(static_cast<ClassId>(owner), p) : 0;
    const bool destroyed = raw != 0 && raw + sizeof(Header) == reinterpret_cast<uintptr_t>(p) &&
                           first_other(header_of(p), 0, sizeof(Header)) < sizeof(Header);
    tell(now, Facts{},
         destroyed ? "%s of %p: the bytes in front of it are destroyed"
                   : "%s of %p, a heap address that was never handed out",
         call, p);
    return true;
  }
  char buffer[120];
  const char* why = why_no_heap(p, buffer, sizeof buffer);
  if (why != nullptr) tell(now, Facts{}, "%s of %p, %s", call, p, why);
  return why != nullptr;
}

// The live object that begins at p, for a call that will use or free it. nullptr: told, or p is
// unknown, which `unknown` says.
Header* live_object(const char* call, void* p, StackId now, bool& unknown) {
  Header* header = find_object(p);
  unknown = header == nullptr;
  if (unknown) return nullptr;
  if (header->user() != p) {
    tell_inside(call, p, *header, now);
    return nullptr;
  }
  if (header->freed_at.load(std::memory_order_relaxed) != 0) {
    const Facts facts(*header);
    tell(now, facts, "%s of %p after it was freed: an object of %zu bytes", call, p, facts.bytes);
    return nullptr;
  }
  return header;
}

// Marks it as freed; told if somebody else has.
bool claim(Header& header, StackId now) {
  StackId live = 0;
  if (header.freed_at.compare_exchange_strong(live, now, std::memory_order_acq_rel)) return true;
  const Facts facts(header);
  tell(now, facts, "double free of %p, an object of %zu bytes", facts.user, facts.bytes);
  return false;
}

// Total size of an object outside the guarded ones; 0 if it is too large.
size_t raw_bytes(size_t alignment, size_t bytes) {
  if (bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX / 2) return 0;
  const size_t all = front_bytes(alignment) + bytes + kLeastBack;
  return all > PTRDIFF_MAX ? 0 : all;
}

// What the next allocator gave is ours only if the table has room, and not in fork handlers, whose
// thread holds its lock: then the program gets it as it is, and it will come back as a foreign one.
void* dress_and_hand_out(Site site, void* raw, size_t alignment, size_t bytes, Family family) {
  if (raw == nullptr) return nullptr;
  const bool pooled = Heap::is_class(heap.owner(raw)) || in_guarded(raw);
  if (!pooled && this_thread.forking) return raw;
  const int saved_errno = errno;
  Header* header = dress(raw, alignment, bytes, family, capture(site));
  if (!pooled && !add_large(header)) {
    header->sum = 0;
    return raw;
  }
  errno = saved_errno;
  return header->user();
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

// While the request fits and fills half of what there is.
bool resize_in_place(Header& header, size_t bytes) {
  const size_t room = header.bytes + header.back - kLeastBack;
  if (in_guarded(&header) || bytes > room || bytes * 2 < room) return false;
  header.sum = 0;  // a sweep at exit may be looking
  std::atomic_thread_fence(std::memory_order_release);
  header.back = static_cast<uint16_t>(std::min(header.bytes + header.back - bytes, kMostBack));
  header.bytes = bytes;
  memset(back_of(header), kBackByte, header.back);
  header.seal();
  return true;
}

}  // namespace

void* allocate_at(Site site, size_t bytes, Family family) {
  const size_t all = raw_bytes(0, bytes);
  if (all == 0) return no_memory();
  void* raw = allocate_guarded(bytes);
  if (raw == nullptr) raw = pktmalloc::allocate<pktmalloc::allocate_slow>(all);
  return dress_and_hand_out(site, raw, 0, bytes, family);
}

void* allocate_aligned_at(Site site, size_t alignment, size_t bytes, Family family) {
  const size_t all = raw_bytes(alignment, bytes);
  if (all == 0) return no_memory();
  return dress_and_hand_out(site, pktmalloc::allocate_aligned(std::max<size_t>(alignment, 16), all),
                            alignment, bytes, family);
}

void* allocate_zeroed_at(Site site, size_t bytes) {
  const size_t all = raw_bytes(0, bytes);
  if (all == 0) return no_memory();
  if (void* raw = allocate_guarded(bytes)) {
    return memset(dress_and_hand_out(site, raw, 0, bytes, Family::kMalloc), 0, bytes);
  }
  void* raw = pktmalloc::allocate_zeroed(1, all, all);
  return dress_and_hand_out(site, raw, 0, bytes, Family::kMalloc);
}

void release_at(Site site, void* p, const Told& told) {
  if (p == nullptr) return;
  const int saved_errno = errno;
  const char* const call = name_of(told);
  const StackId now = capture(site);
  Header* header = find_object(p);
  if (header == nullptr) {
    if (!tell_unknown(call, p, now)) release_slow(p);
  } else if (header->user() != p) {
    tell_inside(call, p, *header, now);
  } else if (claim(*header, now)) {
    inspect_told(call, *header, told, now);
    inspect_edges(*header, now);
    quarantine(*header);
  }
  errno = saved_errno;
}

void* reallocate_at(Site site, void* p, size_t bytes) {
  const StackId now = capture(site);
  bool unknown;
  Header* header = live_object("realloc", p, now, unknown);
  if (unknown) return reallocate_unknown(site, p, bytes, now);
  if (header == nullptr) return no_memory();
  inspect_told("realloc", *header, Told{}, now);
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

}  // namespace pktmalloc::checked
