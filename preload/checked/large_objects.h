// SPDX-License-Identifier: MIT
// Large objects: the table of dressed objects from the next allocator, live or waiting after free.
// Their addresses say nothing, so a pointer is ours only if the table knows it. Its one lock guards
// only the table.
#pragma once

#include "preload/checked/object.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc::checked {

// False if there is no memory for the table: then the object must be handed out undressed.
bool add_large(Header* header);
void remove_large(Header* header);

// The object that begins at p or contains it, even if its header is destroyed.
Header* find_large(const void* p);

// For a sweep: the first wanted object from the table's n-th entry on; moves n past it. nullptr: no
// more. It calls `wanted` under the lock, so that nobody gives the memory back meanwhile.
const Header* next_large(size_t& n, bool (*wanted)(const Header&));

extern Mutex large_objects_mutex;  // held around a fork

}  // namespace pktmalloc::checked
