// SPDX-License-Identifier: MIT
// Large objects: the table of dressed objects from the next allocator, live or waiting after free.
// Their addresses say nothing, so a pointer is ours only if the table knows it. Its one lock guards
// only the table.
#pragma once

#include "preload/checked/object.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc::checked {

// A place for an object of so much memory, up to `end`, whose user's bytes begin there; no record:
// there is no memory for the table, and the memory must be handed out undressed.
Place add_large(char* raw, char* user, char* end);
void remove_large(const Object& object);

// The object that begins at p or contains it.
Object find_large(const void* p);

// For a sweep: the first wanted object from the table's n-th entry on; moves n past it. None: no
// more. It calls `wanted` under the lock, so that nobody gives the memory back meanwhile.
Object next_large(size_t& n, bool (*wanted)(const Object&));

extern Mutex large_objects_mutex;  // held around a fork

}  // namespace pktmalloc::checked
