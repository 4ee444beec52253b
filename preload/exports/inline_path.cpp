// SPDX-License-Identifier: MIT
// Inline path: lets the code that pktmalloc.hpp inlines into programs use the threads' caches as
// fast_path.h does. contract/pktmalloc_path.hpp says what that code knows; here the library checks
// it and fills it in.
//
// Each call that the caches' marks send to the slow path comes here as a call of malloc or free, so
// nothing else of the library knows of this code. The checked and the hardened library offer no
// path, as they look at each call.
//
// Batches are runs of copies, and single calls where a run ends.
#include <cstddef>

#include "preload/base/export.h"
#include "preload/contract/pktmalloc.h"
#include "preload/contract/pktmalloc_path.hpp"
#include "preload/exports/front.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/serving/fast_path.h"
#include "sizeclass/base/machine.h"

namespace pktmalloc {
namespace {

static_assert(contract::kEmpty == kEmptyMark && contract::kFull == kFullMark);
static_assert(contract::kClasses == kMaxClasses && contract::kNoTop == index(kNoClass));
static_assert(contract::kUnitShift == SlabPool::kUnitShift && sizeof(SlabPool::Entry) == 2 &&
              offsetof(SlabPool::Entry, owner) == 0);
static_assert(sizeof heap.bytes() == sizeof(uintptr_t));
static_assert(Cache::kTopsAt == 0 && Cache::kAllocatedAt == contract::kClasses * sizeof(void*));
static_assert(offsetof(Thread, releases_to) - offsetof(Thread, allocates_from) ==
              contract::kReleases);

contract::Place place_of(size_t bytes, size_t alignment) {
  const ClassId id = heap.classes().find_aligned(bytes, alignment);
  return {index(id) * sizeof(void*), index(id)};
}

bool owns(const void* p) { return heap.owns(p); }

constinit contract::Path path{
    0, 0, nullptr, 0, place_of, owns, pktmalloc_allocate_batch, pktmalloc_release_batch};

void start() {
  if (PKTMALLOC_CHECKED || PKTMALLOC_HARDENED || !heap.started()) return;
  // The library's thread-local variables have the same distance from every thread's pointer,
  // because they are in the static block (initial-exec).
  path.thread = reinterpret_cast<uint64_t>(&this_thread.allocates_from) - machine::thread_pointer();
  path.base = heap.base();
  path.bytes = heap.bytes().address();
  path.pooled_bytes = heap.classes()[ClassId{1}].object_bytes;
}

}  // namespace

constinit const Part inline_path_part{.start = start};

}  // namespace pktmalloc

using namespace pktmalloc;

PKTMALLOC_EXPORT const contract::Path* pktmalloc_inline_path(uint32_t schema) {
  cache_of_this_thread();  // the first call starts the process
  return schema == contract::kSchema && path.thread != 0 ? &path : nullptr;
}

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
