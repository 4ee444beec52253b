// SPDX-License-Identifier: MIT
// With PKTMALLOC_CHILDREN=0, programs that this one starts run without the library.
#pragma once

namespace pktmalloc {

// At load: removes this library from LD_PRELOAD and every PKTMALLOC_ variable from the environment.
// It works in place, so that a program that reads main's third argument sees it too. Allocates
// nothing.
void leave_environment();

}  // namespace pktmalloc
