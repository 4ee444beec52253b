// SPDX-License-Identifier: MIT
#include "preload/process/heap.h"

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

}  // namespace pktmalloc
