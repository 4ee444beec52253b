// SPDX-License-Identifier: MIT
// Makes COUNT pairs that pktmalloc.hpp inlines, then takes and returns COUNT bursts of 32 objects.
#include <cstdlib>

#include "preload/contract/pktmalloc.hpp"

extern "C" [[gnu::noinline]] void inlined_pairs(int count) {
  for (int i = 0; i < count; ++i) {
    void* const p = pktmalloc::allocate<64>();
    asm volatile("" : : "r"(p) : "memory");
    pktmalloc::release<64>(p);
  }
}

int main(int, char** argv) {
  const int count = atoi(argv[1]);
  inlined_pairs(count);
  void* objects[32];
  for (int i = 0; i < count; ++i) {
    pktmalloc::release_batch(objects, pktmalloc::allocate_batch(64, 32, objects));
  }
}
