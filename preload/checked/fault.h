// SPDX-License-Identifier: MIT
// Fault: an access that the processor refused (SIGSEGV), where that tells of an object: in a guard
// page, in a large object that waits after free, or beyond the end of a slab.
#pragma once

namespace pktmalloc::checked {

void watch_faults();

}  // namespace pktmalloc::checked
