// SPDX-License-Identifier: MIT
// memcpy and memmove of the hardened and the checked library: what they write must lie in one
// object, if it lies in the heap. So a copy that runs over is stopped before it writes. Calls that
// the compiler has replaced by instructions do not come here.
//
// libc's own functions, under the names that nobody stands in for, then do the work.
#include "preload/exports/front.h"

#if PKTMALLOC_CHECKED || PKTMALLOC_HARDENED
#include "preload/base/export.h"

using namespace pktmalloc;

extern "C" {
void* __memcpy_chk(void* to, const void* from, size_t bytes, size_t room);
void* __memmove_chk(void* to, const void* from, size_t bytes, size_t room);

PKTMALLOC_EXPORT void* memcpy(void* to, const void* from, size_t bytes) {
  front::inspect_copy(to, bytes);
  return __memcpy_chk(to, from, bytes, bytes);
}

PKTMALLOC_EXPORT void* memmove(void* to, const void* from, size_t bytes) {
  front::inspect_copy(to, bytes);
  return __memmove_chk(to, from, bytes, bytes);
}
}  // extern "C"
#endif
