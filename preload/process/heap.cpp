// SPDX-License-Identifier: MIT
#include "preload/process/heap.h"

#include "sizeclass/memory.h"

#include <atomic>

namespace pktmalloc {

constinit Heap heap;
constinit uint32_t in_place_bytes[kMaxClasses]{};

void allow_resize_in_place(bool allowed) {
  for (unsigned i = 0; i < heap.classes().count(); ++i) {
    const uint32_t bytes = heap.classes()[static_cast<ClassId>(i)].object_bytes;
    std::atomic_ref(in_place_bytes[i]).store(allowed ? bytes : 0, std::memory_order_relaxed);
  }
}

namespace {

// 0: the address lies in no slab in use.
uintptr_t object_at(uintptr_t address) {
  const auto* const p = reinterpret_cast<const void*>(address);
  const uintptr_t owner = heap.owner(p);
  return Heap::is_class(owner) ? heap.object_at(static_cast<ClassId>(owner), p) : 0;
}

}  // namespace

uintptr_t object_beside(uintptr_t address) {
  const uintptr_t owner = heap.owner(reinterpret_cast<const void*>(address));
  if (!Heap::is_class(owner) || object_at(address) != 0) return 0;
  const uintptr_t page = memory::page_bytes(), its_page = address & ~(page - 1);
  const uintptr_t behind = object_at(its_page + page);
  return behind != 0 ? behind : object_at(its_page - 1);
}

}  // namespace pktmalloc
