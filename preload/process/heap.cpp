// SPDX-License-Identifier: MIT
#include "preload/process/heap.h"

namespace pktmalloc {

constinit Heap heap;
constinit uint32_t in_place_bytes[kMaxClasses]{};

}  // namespace pktmalloc
