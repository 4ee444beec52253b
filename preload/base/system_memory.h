// SPDX-License-Identifier: MIT
// System memory: how much there is for this process, of the machine, of each control group above
// it, version 1 or 2, and of its own limits; the least of them. Bytes. Allocate nothing.
#pragma once

#include <cstdint>

namespace pktmalloc {

// What the system would still give, page cache that can go included. ~0: unknown.
uint64_t available_memory();

// What it may have in all. ~0: unknown.
uint64_t total_memory();

}  // namespace pktmalloc
