// SPDX-License-Identifier: MIT
// Around 256 KiB, the largest class, byte by byte in both directions, many blocks at once. One that
// shrinks by little is not copied.
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

enum { kBorder = 256 << 10, kBlocks = 20 };

int main(void) {
  void* blocks[kBlocks] = {0};
  size_t bytes[kBlocks] = {0};
  for (size_t step = 0; step < 400; ++step) {
    const size_t n = step % kBlocks;
    const size_t wanted = kBorder + (step * 7 % 11) - 5 + (step % 3 == 0 ? 100000 : 0);
    const size_t kept = bytes[n] < wanted ? bytes[n] : wanted;
    if (blocks[n] != NULL) CHECK(has_pattern(blocks[n], bytes[n], n + bytes[n]));
    if (blocks[n] != NULL) memset(blocks[n], (int)n + 1, bytes[n]);
    blocks[n] = realloc(blocks[n], wanted);
    CHECK(blocks[n] != NULL);
    if (wanted > kBorder) CHECK(pktmalloc_class_bytes(blocks[n]) == 0);
    for (size_t i = 0; i < kept; ++i) CHECK(((char*)blocks[n])[i] == (char)(n + 1));
    bytes[n] = wanted;
    write_pattern(blocks[n], wanted, n + wanted);
  }
  for (size_t n = 0; n < kBlocks; ++n) free(blocks[n]);
  void* const block = malloc(kBorder + 1);
  for (size_t n = 0; n < 10; ++n) CHECK(realloc(block, kBorder + n % 2) == block);
  void* const small = realloc(block, kBorder / 4);
  CHECK(pktmalloc_class_bytes(small) == kBorder / 4);
  free(small);
  return 0;
}
