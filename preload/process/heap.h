// SPDX-License-Identifier: MIT
// The process's one heap.
#pragma once

#include "sizeclass/heap/heap.h"

namespace pktmalloc {

// Hidden: otherwise every access would use the global offset table.
inline constinit Heap heap __attribute__((visibility("hidden")));

}  // namespace pktmalloc
