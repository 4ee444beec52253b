// SPDX-License-Identifier: MIT
// Large objects: the table of dressed objects that the next allocator gave us, live and waiting
// after free. Their addresses say nothing, so a pointer is ours only if the table knows it. One
// lock, which is held for nothing but the table.
#pragma once

#include "preload/checked/object.h"
#include "sizeclass/mutex.h"

namespace pktmalloc::checked {

// False if there is no memory for the table: then the object's must be handed out undressed.
bool add_large(Header* header);
void remove_large(Header* header);

// The object that begins at p, its header destroyed or not, or has p inside it.
Header* find_large(const void* p);

// For a sweep: the first such object from the n-th entry of the table on, and n behind it; nullptr:
// no more. `wanted` is asked under the lock, so that nobody gives the memory back meanwhile.
const Header* next_large(size_t& n, bool (*wanted)(const Header&));

Mutex& large_objects_mutex();

}  // namespace pktmalloc::checked
