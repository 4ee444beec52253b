// SPDX-License-Identifier: MIT
// Guard: objects of one chosen class (PKTMALLOC_GUARD) end where an inaccessible page begins, so
// that the very instruction that reads or writes past the end is reported. The end is rounded up to
// 16 bytes, because objects must be aligned; the canary watches those up to 15 bytes. Objects of no
// bytes always lie so: where they begin nobody may read or write.
//
//     | ... header, user bytes, up to 15 canary bytes | guard page |    a slot (guard/slot.h)
//
// Their number fits the system's limit on mappings; further objects of the class have no guard. The
// user of a slot is its header.
#pragma once

#include "preload/checked/object.h"
#include "preload/guard/slot.h"

namespace pktmalloc::checked {

// A size of 0: only for objects of no bytes.
void start_guard(size_t size);

inline constinit bool guards_class = false;

// Raw memory for a request, as for dress(); nullptr: not of the chosen class, or no slot is free.
void* take_guarded(size_t bytes);
inline void* allocate_guarded(size_t bytes) {
  return bytes == 0 || guards_class ? take_guarded(bytes) : nullptr;
}
void release_guarded(const Header& header);
// Bytes from there to the guard page.
size_t guarded_room(const void* raw);

// The object whose slot holds p, even if its header is destroyed; nullptr: there was none.
Header* find_guarded(const void* p);

// The object before the guard page that holds p; nullptr: p lies in none.
Header* find_before_guard(const void* p);
// Allows access to the guard page that holds p. False if the system refuses.
bool open_guard(const void* p);

// For a sweep: the first object from slot n on; moves n past it. nullptr: no more.
Header* next_guarded(size_t& n);

}  // namespace pktmalloc::checked
