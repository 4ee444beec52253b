// SPDX-License-Identifier: MIT
#include "preload/hardened/hardened_entry.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/hardened/nothing.h"
#include "preload/process/next_allocator.h"
#include "preload/stacks/finding.h"
#include "sizeclass/keep_errno.h"

namespace pktmalloc::hardened {
namespace {

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

size_t class_bytes(uintptr_t owner) {
  return owner < heap.classes().count() ? heap.classes()[static_cast<ClassId>(owner)].object_bytes
                                        : 0;
}

Facts facts_of(const void* p, size_t bytes) {
  Facts facts;
  facts.user = p;
  facts.bytes = bytes;
  return facts;
}

const char* name_of(const Told& told) {
  return told.family == Family::kNew        ? "operator delete"
         : told.family == Family::kNewArray ? "operator delete[]"
                                            : "free";
}

// Of a pointer into the areas that is not the start of a live object, and goes into `call`.
void tell_wrong(Site site, const char* call, const void* p) {
  const KeepErrno keep;
  const uintptr_t owner = heap.owner(p);
  const uintptr_t start = heap.object_at(static_cast<ClassId>(owner), p);
  const auto* const object = reinterpret_cast<const void*>(start);
  const ObjectStates::State state =
      start == 0 ? ObjectStates::kNone : heap.state_of(static_cast<ClassId>(owner), object).state();
  const size_t bytes = class_bytes(owner);
  const uintptr_t inside = reinterpret_cast<uintptr_t>(p) - start;
  const Facts facts = facts_of(object, bytes);
  const StackId now = capture(site);
  if (state == ObjectStates::kNone) {
    tell(now, {}, "%s of %p, a heap address that was never handed out", call, p);
  } else if (inside > 0) {
    tell(now, facts, "%s of %p, %zu bytes inside an object of up to %zu bytes%s", call, p, inside,
         bytes, state == ObjectStates::kFreed ? " that is freed" : "");
  } else if (strcmp(call, "realloc") == 0 || strcmp(call, "malloc_usable_size") == 0) {
    tell(now, facts, "%s of %p after it was freed: an object of up to %zu bytes", call, p, bytes);
  } else {
    tell(now, facts, "double free of %p, an object of up to %zu bytes", p, bytes);
  }
}

void tell_mismatch(Site site, const void* p, const Told& told) {
  const KeepErrno keep;
  const size_t bytes = class_bytes(heap.owner(p));
  tell(capture(site), facts_of(p, bytes), "%s of %p with %zu bytes: an object of up to %zu bytes",
       name_of(told), p, told.bytes, bytes);
}

void tell_wrong_nothing(Site site, const char* call, const void* p) {
  const KeepErrno keep;
  tell(capture(site), facts_of(p, 0), "%s of %p, where an object of 0 bytes may have been", call,
       p);
}

// What the slower functions got: pooled or not.
void* handed_out(Site site, void* p, bool blank_before) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return p;
  const ClassId id = static_cast<ClassId>(owner);
  set_live(site, id, p);
  if (blank_before) inspect(site, id, p);
  return p;
}

void* reallocate_other(Site site, void* p, size_t bytes) {
  if (!is_nothing(p)) return handed_out(site, pktmalloc::reallocate_foreign(p, bytes), false);
  if (!is_live_nothing(p)) {
    tell_wrong_nothing(site, "realloc", p);
    return no_memory();
  }
  void* const moved = allocate_slow_at(site, bytes);
  if (moved != nullptr) give_nothing(p);
  return moved;
}

}  // namespace

void tell_handed_out_twice(Site site, void* p) {
  const size_t bytes = class_bytes(heap.owner(p));
  tell(capture(site), facts_of(p, bytes),
       "double free of %p, an object of up to %zu bytes, found when it was handed out twice", p,
       bytes);
}

void tell_written(Site site, void* p) {
  const KeepErrno keep;
  const size_t bytes = class_bytes(heap.owner(p));
  const auto* const begin = static_cast<const char*>(p);
  const char* const end = begin + std::min(bytes, kInspected);
  const char* const first = std::find_if(begin, end, [](char c) { return c != 0; });
  tell(site.pc == 0 ? 0 : capture(site), facts_of(p, bytes),
       "write after free to %p, an object of up to %zu bytes: byte %td, found %s", p, bytes,
       first - begin, site.pc == 0 ? "at exit" : "when its memory was to be used again");
}

void* allocate_slow_at(Site site, size_t bytes) {
  if (bytes == 0) {
    if (void* p = take_nothing()) return p;
  }
  return handed_out(site, pktmalloc::allocate_slow(bytes), true);
}

void* allocate_zeroed_at(Site site, size_t count, size_t bytes_each, size_t bytes) {
  if (bytes == 0) return allocate_slow_at(site, 0);
  return handed_out(site, pktmalloc::allocate_zeroed(count, bytes_each, bytes), false);
}

void* allocate_aligned_at(Site site, size_t alignment, size_t bytes) {
  if (bytes == 0 && alignment <= kNothingBytes) return allocate_slow_at(site, 0);
  return handed_out(site, pktmalloc::allocate_aligned(alignment, bytes), true);
}

void* reallocate_at(Site site, void* p, size_t bytes) {
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) return reallocate_other(site, p, bytes);
  if (!is_live(static_cast<ClassId>(owner), p)) {
    tell_wrong(site, "realloc", p);
    return no_memory();
  }
  if (resizes_in_place(owner, bytes)) return p;
  const size_t old_bytes = class_bytes(owner);
  void* const moved = allocate_slow_at(site, bytes);
  if (moved == nullptr) return bytes <= old_bytes ? p : nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  release(p);
  return moved;
}

size_t usable_size_at(Site site, void* p) {
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner)) {
    if (is_live(static_cast<ClassId>(owner), p)) return class_bytes(owner);
    tell_wrong(site, "malloc_usable_size", p);
    return 0;
  }
  if (!is_nothing(p)) return pktmalloc::usable_size(p);
  if (!is_live_nothing(p)) tell_wrong_nothing(site, "malloc_usable_size", p);
  return 0;
}

void release_waited_at(Site site, ClassId id, void* p) {
  if (!is_head_blank(p)) tell_written(site, p);
  memset(p, 0, cleared_bytes[index(id)]);
  if (!this_thread.releases_to->release(id, p)) release_slow(p);
}

void release_other_at(Site site, void* p, Family family, size_t bytes, size_t alignment) {
  const Told told{family, bytes, alignment};
  const uintptr_t owner = heap.owner(p);
  if (!Heap::is_class(owner)) {
    if (!is_nothing(p)) return release_slow(p);
    if (!give_nothing(p)) tell_wrong_nothing(site, name_of(told), p);
  } else if (!is_live(static_cast<ClassId>(owner), p)) {
    tell_wrong(site, name_of(told), p);
  } else if (!fits(owner, told)) {
    tell_mismatch(site, p, told);
  } else {
    set_freed(site, static_cast<ClassId>(owner), p);  // addresses were given back
  }
}

}  // namespace pktmalloc::hardened
