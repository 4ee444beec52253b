// SPDX-License-Identifier: MIT
// Mapped blocks: a mapping of the system for each block. They serve what no class does in a program
// that has no other allocator, because it was linked with -static.
//
// A block's head lies in front of it, so there is no table. Some freed mappings are kept for the
// next requests, because every new page costs a fault. Only forks wait for their lock; who else
// finds it taken does without them. So a fork handler may come here although the fork holds the
// lock, and a signal handler at any time.
//
// Each function is like the C function of that name. Any thread.
#pragma once

#include <malloc.h>

#include <cstddef>

namespace pktmalloc::mapped_blocks {

void* malloc(size_t bytes);
void* calloc(size_t count, size_t bytes);  // the product must not overflow
int posix_memalign(void** out, size_t alignment, size_t bytes);
void* realloc(void* p, size_t bytes);
void free(void* p);
size_t malloc_usable_size(void* p);
int malloc_trim(size_t pad);
int mallopt(int option, int value);  // there is nothing to set
struct mallinfo2 mallinfo2();

}  // namespace pktmalloc::mapped_blocks
