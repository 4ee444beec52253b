// SPDX-License-Identifier: MIT
// malloc and free, new and delete as this library sees them.
#include <cstdlib>
#include <new>

extern "C" void* allocate(std::size_t bytes) { return std::malloc(bytes); }
extern "C" void* reallocate(void* p, std::size_t bytes) { return std::realloc(p, bytes); }
extern "C" void release(void* p) { std::free(p); }
extern "C" void* make(std::size_t bytes) { return ::operator new(bytes); }
extern "C" void destroy(void* p) { ::operator delete(p); }
