// SPDX-License-Identifier: MIT
// Limits: how much memory the process may have from us (PKTMALLOC_LIMIT, PKTMALLOC_SOFT_LIMIT).
#pragma once

#include <cstdint>

namespace pktmalloc {

// In bytes; MemoryLimit::kNone: none.
struct Limits {
  uint64_t hard, soft;
};

// By the options; one line for a share of a total that is not known.
Limits limits();

}  // namespace pktmalloc
