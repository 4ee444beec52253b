// SPDX-License-Identifier: MIT
// Guard: objects of one chosen class (PKTMALLOC_GUARD) end where an inaccessible page begins, so
// that the very instruction that reads or writes past the end is reported. The end is rounded up to
// 16 bytes, because objects must be aligned; the canary watches those up to 15 bytes. Objects of no
// bytes always lie so: where they begin nobody may read or write.
//
//     | ... front canary, user bytes, up to 15 canary bytes | guard page |    a slot (guard/slot.h)
//
// Their number fits the system's limit on mappings; further objects of the class have no guard.
#pragma once

#include "preload/checked/object.h"
#include "preload/guard/slot.h"

namespace pktmalloc::checked {

// A size of 0: only for objects of no bytes.
void start_guard(size_t size);

inline constinit ClassId guarded_class = kNoClass;

// Memory for a request of no bytes, or while there is such a class; no record: it is of another
// class, or no slot is free.
Place allocate_guarded(size_t bytes);
void release_guarded(const Object& object);

// The object whose slot holds p; none: nobody has used it.
Object find_guarded(const void* p);

// For a sweep: with the objects of all slots that were used, or none.
void each_guarded(void (*visit)(const Object&));

}  // namespace pktmalloc::checked
