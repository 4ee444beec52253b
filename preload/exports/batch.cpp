// SPDX-License-Identifier: MIT
// The exports of pktmalloc.h that take and return many objects at once: runs of copies, and single
// calls where a run ends.
#include "preload/base/export.h"
#include "preload/contract/pktmalloc.h"
#include "preload/exports/front.h"

using namespace pktmalloc;

PKTMALLOC_EXPORT size_t pktmalloc_allocate_batch(size_t bytes, size_t count, void** objects) {
  for (size_t n = 0; n < count; ++n) {
    n += front::allocate_run(bytes, objects + n, count - n);
    if (n == count) break;
    objects[n] = front::allocate<front::allocate_slow>(bytes);
    if (objects[n] == nullptr) return n;
  }
  return count;
}

PKTMALLOC_EXPORT void pktmalloc_release_batch(void* const* objects, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    n += front::release_run(objects + n, count - n);
    if (n < count) front::release(objects[n]);
  }
}
