// SPDX-License-Identifier: MIT
// The C exports: what the C and POSIX standards and glibc's manual demand (errno, overflow,
// alignment, zero sizes), and nothing else. All of glibc's names and aliases are here.
#include <malloc.h>
#include <stdlib.h>

#include <bit>
#include <cerrno>

#include "preload/base/export.h"
#include "preload/exports/front.h"
#include "preload/process/next_allocator.h"
#include "preload/process/thread.h"
#include "preload/recording/observer.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

namespace {

using namespace pktmalloc;

void* aligned(size_t alignment, size_t bytes) {
  if (bytes > PTRDIFF_MAX) return no_memory();
  return front::allocate_aligned(alignment, bytes, Family::kMalloc);
}

}  // namespace

extern "C" {

PKTMALLOC_HOT void* malloc(size_t bytes) { return front::allocate<front::allocate_slow>(bytes); }

PKTMALLOC_HOT void free(void* p) { front::release(p); }

PKTMALLOC_EXPORT void free_sized(void* p, size_t bytes) {
  front::release(p, {Family::kMalloc, bytes});
}

PKTMALLOC_EXPORT void free_aligned_sized(void* p, size_t alignment, size_t bytes) {
  front::release(p, {Family::kMalloc, bytes, alignment});
}

PKTMALLOC_EXPORT void* calloc(size_t count, size_t bytes_each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) [[unlikely]]
    return no_memory();
  return front::allocate_zeroed(bytes);
}

// Like glibc: (null, n) allocates, (p, 0) frees and returns null.
PKTMALLOC_EXPORT void* realloc(void* p, size_t bytes) {
  if (p == nullptr) return front::allocate<front::allocate_slow>(bytes);
  if (bytes == 0) return front::release(p), nullptr;
  if (bytes > PTRDIFF_MAX) return no_memory();
  return front::reallocate(p, bytes);
}

PKTMALLOC_EXPORT void* reallocarray(void* p, size_t count, size_t bytes_each) {
  size_t bytes;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) return no_memory();
  return realloc(p, bytes);
}

PKTMALLOC_EXPORT int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const KeepErrno keep;
  void* const p = aligned(alignment, bytes);
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

PKTMALLOC_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  if (!is_power_of_two(alignment)) return errno = EINVAL, nullptr;
  return aligned(alignment, bytes);
}

// Like glibc: rounds an alignment that is no power of two up to one.
PKTMALLOC_EXPORT void* memalign(size_t alignment, size_t bytes) {
  if (alignment > SIZE_MAX / 2 + 1) return errno = EINVAL, nullptr;
  return aligned(std::bit_ceil(alignment), bytes);
}

PKTMALLOC_EXPORT void* valloc(size_t bytes) { return aligned(memory::page_bytes(), bytes); }

PKTMALLOC_EXPORT void* pvalloc(size_t bytes) {
  const size_t page = memory::page_bytes();
  size_t pages;
  if (__builtin_add_overflow(bytes, page - 1, &pages)) return no_memory();
  return aligned(page, pages / page * page);
}

PKTMALLOC_EXPORT size_t malloc_usable_size(void* p) {
  if (is_observed()) [[unlikely]]
    size_asked();
  return front::usable_size(p);
}

// Programs that know glibc also call it by these names.
PKTMALLOC_ALIAS(free) void cfree(void*);
PKTMALLOC_ALIAS(malloc) void* __libc_malloc(size_t);
PKTMALLOC_ALIAS(free) void __libc_free(void*);
PKTMALLOC_ALIAS(free) void __libc_cfree(void*);
PKTMALLOC_ALIAS(calloc) void* __libc_calloc(size_t, size_t);
PKTMALLOC_ALIAS(realloc) void* __libc_realloc(void*, size_t);
PKTMALLOC_ALIAS(reallocarray) void* __libc_reallocarray(void*, size_t, size_t);
PKTMALLOC_ALIAS(memalign) void* __libc_memalign(size_t, size_t);
PKTMALLOC_ALIAS(valloc) void* __libc_valloc(size_t);
PKTMALLOC_ALIAS(pvalloc) void* __libc_pvalloc(size_t);
PKTMALLOC_ALIAS(posix_memalign) int __posix_memalign(void**, size_t, size_t);

#if PKTMALLOC_CHECKED || PKTMALLOC_HARDENED
// What memcpy and memmove write must lie in one object, if it lies in the heap. So a copy that runs
// over is stopped before it writes. Calls that the compiler has replaced by instructions do not
// come here. libc's own function, under a name that nobody stands in for, then does the work: for
// memcpy, too, because that of the first C libraries may copy what overlaps.
// Not by that name, of which compilers know that it may be memmove.
void* libc_memmove(void* to, const void* from, size_t bytes, size_t room) asm("__memmove_chk");

PKTMALLOC_EXPORT void* memmove(void* to, const void* from, size_t bytes) {
  front::inspect_copy(to, bytes);
  return libc_memmove(to, from, bytes, bytes);
}

PKTMALLOC_ALIAS(memmove) void* memcpy(void*, const void*, size_t);
#endif

}  // extern "C"
