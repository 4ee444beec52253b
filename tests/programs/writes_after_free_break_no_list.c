// SPDX-License-Identifier: MIT
// What the program writes into freed objects reaches no free list: all objects that are handed out
// afterwards are objects of their class, each once, whether they come from a magazine, the depot or
// the slabs.
#include <malloc.h>
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

enum { kObjects = 20000, kBytes = 112 };

static char* objects[kObjects];

static int by_address(const void* a, const void* b) {
  const char *left = *(char*const*)a, *right = *(char*const*)b;
  return left < right ? -1 : left > right;
}

static void allocate_all(void) {
  for (int i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  for (int i = 0; i < kObjects; ++i) write_pattern(objects[i], kBytes, (uint64_t)i);
  for (int i = 0; i < kObjects; ++i) CHECK(has_pattern(objects[i], kBytes, (uint64_t)i));
  qsort(objects, kObjects, sizeof *objects, by_address);
  for (int i = 0; i < kObjects; ++i) {
    CHECK(pktmalloc_class_bytes(objects[i]) == kBytes);
    CHECK(i == 0 || objects[i] - objects[i - 1] >= kBytes);
  }
}

int main(void) {
  allocate_all();
  const size_t lengths[] = {0, 1, 10, 300, kObjects};
  for (int i = 0; i < 10; ++i) {
    const size_t count = lengths[i / 2];
    for (size_t n = 0; n < count; ++n) free(objects[n]);
    for (size_t n = 0; n < count; ++n) memset(objects[n], i % 2 == 0 ? 0x41 : 0xff, kBytes);
    for (size_t n = 0; n < count; ++n) CHECK((objects[n] = malloc(kBytes)) != NULL);
  }
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  for (int i = 0; i < kObjects; ++i) memset(objects[i], 0x41, kBytes);
  malloc_trim(0);
  allocate_all();
  return 0;
}
