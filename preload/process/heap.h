// SPDX-License-Identifier: MIT
// The process's one heap.
#pragma once

#include "sizeclass/heap/heap.h"

namespace pktmalloc {

// Hidden already at its declaration: otherwise every access would use the global offset table.
extern constinit Heap heap __attribute__((visibility("hidden")));

}  // namespace pktmalloc
