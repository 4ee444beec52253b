// SPDX-License-Identifier: MIT
// A shared library that was compiled with pktmalloc.hpp, to be loaded beside others.
#include "pktmalloc.hpp"

extern "C" {
void* allocate() { return pktmalloc::allocate<64>(); }
void release(void* p) { pktmalloc::release<64>(p); }
// Does it take objects without a call?
int inlines() { return pktmalloc::detail::thread.load() != 0; }
}
