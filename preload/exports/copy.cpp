// SPDX-License-Identifier: MIT
// memcpy and memmove of the hardened and the checked library: what they write must lie in one
// object, if it lies in the heap. So a copy that runs over is stopped before it writes. Calls that
// the compiler has replaced by instructions do not come here.
//
// libc's own function, under a name that nobody stands in for, then does the work: for memcpy, too,
// because that of the first C libraries may copy what overlaps.
#include "preload/exports/front.h"

#if PKTMALLOC_CHECKED || PKTMALLOC_HARDENED
#include "preload/base/export.h"

using namespace pktmalloc;

extern "C" {
// Not by that name, of which compilers know that it may be memmove.
void* libc_memmove(void* to, const void* from, size_t bytes, size_t room) asm("__memmove_chk");

PKTMALLOC_EXPORT void* memmove(void* to, const void* from, size_t bytes) {
  front::inspect_copy(to, bytes);
  return libc_memmove(to, from, bytes, bytes);
}

PKTMALLOC_ALIAS(memmove) void* memcpy(void*, const void*, size_t);
}  // extern "C"
#endif
