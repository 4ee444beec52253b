// SPDX-License-Identifier: MIT
#include "preload/hardened/blank.h"

#include "preload/process/heap.h"

namespace pktmalloc::hardened {

constinit uint32_t cleared_bytes[kMaxClasses]{};

void start_blank(size_t bytes) {
  for (const ClassId id : heap.classes().ids()) {
    const uint32_t object_bytes = heap.classes()[id].object_bytes;
    const size_t most = std::max(kInspected, bytes / sizeof(Vector) * sizeof(Vector));
    cleared_bytes[index(id)] = static_cast<uint32_t>(std::min<size_t>(object_bytes, most));
  }
}

}  // namespace pktmalloc::hardened
