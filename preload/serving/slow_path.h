// SPDX-License-Identifier: MIT
// Slow path: the slow half of every allocating and freeing function (fast_path.h has the fast one).
// It decides which requests are pooled, and what becomes of the others.
//
// The next allocator gets a request that is larger than the largest class, needs an alignment that
// no class has, has a size whose class is off (PKTMALLOC_CLASSES), or has an exhausted class.
#pragma once

#include <cstddef>

#include "preload/process/process.h"
#include "sizeclass/base/class_id.h"

namespace pktmalloc {

// kNoClass: none serves such requests.
ClassId class_for(size_t bytes, size_t alignment);

// All return nullptr with errno = ENOMEM when there is no memory.
void* allocate_slow(size_t bytes);
void* allocate_zeroed_slow(size_t bytes);
// `alignment` is a power of two.
void* allocate_aligned(size_t alignment, size_t bytes);
// p is not null and in no class, bytes not 0. On failure p is untouched.
void* reallocate_foreign(void* p, size_t bytes);
// Moves the object into a class. One that shrinks stays where it is if there is no memory for a
// smaller one.
void* move_or_stay(void* p, size_t old_bytes, size_t bytes);

// Keeps errno. p may be null or foreign.
void release_slow(void* p);

// 0 for null; the next allocator's answer for foreign pointers.
size_t usable_size(void* p);

}  // namespace pktmalloc
