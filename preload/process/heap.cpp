// SPDX-License-Identifier: MIT
#include "preload/process/heap.h"

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

}  // namespace pktmalloc
