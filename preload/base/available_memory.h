// SPDX-License-Identifier: MIT
// Available memory: what the system would still give this process.
#pragma once

#include <cstdint>

namespace pktmalloc {

// In bytes, page cache that can go included: the least of the machine's and of what is left in
// each control group above the process, version 1 or 2. ~0: unknown. Allocates nothing.
uint64_t available_memory();

}  // namespace pktmalloc
