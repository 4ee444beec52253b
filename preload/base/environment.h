// SPDX-License-Identifier: MIT
// With PKTMALLOC_CHILDREN=0 the programs that this one starts run without the library.
#pragma once

namespace pktmalloc {

// At load: takes this library out of LD_PRELOAD and every PKTMALLOC_ variable out of the
// environment. In place, so that also a program that looks at main's third argument sees it.
// Allocates nothing.
void leave_environment();

}  // namespace pktmalloc
