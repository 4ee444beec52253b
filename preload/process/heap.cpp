// SPDX-License-Identifier: MIT
#include "preload/process/heap.h"

#include "sizeclass/base/memory.h"

#include <atomic>

namespace pktmalloc {

constinit Heap heap;
alignas(64) constinit uint32_t in_place_bytes[kMaxClasses]{};

void allow_resize_in_place(bool allowed) {
  for (const ClassId id : heap.classes().ids()) {
    const uint32_t bytes = heap.classes()[id].object_bytes;
    std::atomic_ref(in_place_bytes[index(id)])
        .store(allowed ? bytes : 0, std::memory_order_relaxed);
  }
}

namespace {

const void* pointer(uintptr_t address) { return reinterpret_cast<const void*>(address); }

// 0: the address lies in no slab in use.
uintptr_t object_at(uintptr_t address) {
  const void* const p = pointer(address);
  return heap.object_at(heap.class_of(p), p);
}

}  // namespace

uintptr_t object_beside(uintptr_t address) {
  if (!heap.is_nobodys(pointer(address)) || object_at(address) != 0) return 0;
  const uintptr_t page = memory::page_bytes(), its_page = address & ~(page - 1);
  const uintptr_t behind = object_at(its_page + page);
  if (behind != 0) return behind;
  uintptr_t before = its_page - 1;
  while (heap.spans(pointer(before)) && !heap.owns(pointer(before))) {
    before -= uintptr_t{1} << SlabPool::kUnitShift;
  }
  // Behind a slab's last object may be bytes that are none's.
  while (heap.owns(pointer(before)) && object_at(before) == 0) before -= 16;
  return object_at(before);
}

}  // namespace pktmalloc
