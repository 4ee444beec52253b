// SPDX-License-Identifier: MIT
#include "preload/hardened/blank.h"

#include "preload/process/heap.h"

namespace pktmalloc::hardened {

constinit uint32_t cleared_bytes[kMaxClasses]{};

void start_blank(size_t bytes) {
  for (unsigned i = 0; i < heap.classes().count(); ++i) {
    const uint32_t object_bytes = heap.classes()[static_cast<ClassId>(i)].object_bytes;
    const size_t most = std::max(kInspected, bytes / sizeof(Vector) * sizeof(Vector));
    cleared_bytes[i] = static_cast<uint32_t>(std::min<size_t>(object_bytes, most));
  }
}

}  // namespace pktmalloc::hardened
