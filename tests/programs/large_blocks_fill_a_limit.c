// SPDX-License-Identifier: MIT
// Large blocks get most of as many MiB as it is told, whatever limits them. A refusal changes
// nothing, and what is freed serves blocks of other sizes and functions.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

enum { kMost = 10000 };

static void* clears(size_t bytes) { return calloc(1, bytes); }
static void* aligns(size_t bytes) { return memalign(65536, bytes); }

// Until refused.
static void fill(size_t limit, size_t bytes, void* (*allocate)(size_t)) {
  static void* blocks[kMost];
  int count = 0;
  while ((blocks[count] = allocate(bytes)) != NULL) {
    write_pattern(blocks[count], 8, (uint64_t)count);
    CHECK(++count < kMost);
  }
  CHECK(errno == ENOMEM);
  CHECK((size_t)count * bytes > limit / 4 * 3 && (size_t)count * bytes <= limit);
  CHECK(realloc(blocks[0], limit) == NULL && errno == ENOMEM);
  for (int i = 0; i < count; ++i) {
    CHECK(has_pattern(blocks[i], 8, (uint64_t)i));
    free(blocks[i]);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const size_t limit = (size_t)atoi(argv[1]) << 20;
  for (int round = 0; round < 3; ++round) {
    fill(limit, 300000, malloc);
    fill(limit, 3 << 20, clears);
    fill(limit, 700000, aligns);
    fill(limit, 10 << 20, malloc);
  }
  return 0;
}
