// SPDX-License-Identifier: MIT
// A block that grows beyond all that were freed yet gets a mapping, which grows without copies; one
// that does not is served by the heap, and so is all once the program has set a threshold.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

enum { kMiB = 1 << 20 };

static size_t mappings(void) { return mallinfo2().hblks; }

// With a block behind it, so that it cannot grow where it lies.
static char* grown_to(size_t bytes) {
  enum { kFirst = 400000 };
  char* block = malloc(kFirst);
  void* const behind = malloc(kFirst);
  CHECK(block != NULL && behind != NULL);
  write_pattern(block, kFirst, bytes);
  block = realloc(block, bytes);
  CHECK(block != NULL && has_pattern(block, kFirst, bytes));
  memset(block, 1, bytes);
  free(behind);
  return block;
}

int main(void) {
  const size_t before = mappings();
  void* const block = malloc(kMiB);
  const int all_are_mapped = mappings() != before;  // a program linked with -static
  free(block);
  char* grown = grown_to(4 * kMiB);
  CHECK(mappings() == before + 1);
  free(grown);
  if (all_are_mapped) return 0;
  CHECK(mappings() == before);
  grown = grown_to(3 * kMiB);
  CHECK(mappings() == before);
  char* const larger = grown_to(8 * kMiB);
  CHECK(mappings() == before + 1);
  free(larger);
  free(grown);
  CHECK(mallopt(M_TRIM_THRESHOLD, 64 * kMiB) == 1);
  grown = grown_to(16 * kMiB);
  CHECK(mappings() == before);
  free(grown);
  return 0;
}
