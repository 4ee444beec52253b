// SPDX-License-Identifier: MIT
// malloc and free as this library sees them.
#include <cstdlib>

extern "C" void* allocate(std::size_t bytes) { return std::malloc(bytes); }
extern "C" void release(void* p) { std::free(p); }
