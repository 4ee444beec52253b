// SPDX-License-Identifier: MIT
#include <string.h>

#include "check.h"
#include "interface.h"

int main(void) {
  static char text[1 << 17];
  struct pktmalloc_statistics before, after;
  const size_t bytes = pktmalloc_get_statistics(&before, sizeof before);
  CHECK(bytes >= sizeof before);
  const size_t length = pktmalloc_statistics_json(text, sizeof text);
  CHECK(length > 1000 && length < sizeof text && strlen(text) == length);
  CHECK(text[0] == '{' && strcmp(text + length - 2, "}\n") == 0);
  pktmalloc_get_statistics(&after, sizeof after);
  CHECK(before.allocs > 0 || before.reserved_bytes > 0);
  CHECK(after.allocs == before.allocs && after.frees == before.frees);
  CHECK(after.passed == before.passed && after.committed_bytes == before.committed_bytes);

  // Cut to fit, with a zero at the end.
  char few[50];
  memset(few, 'x', sizeof few);
  CHECK(pktmalloc_statistics_json(few, sizeof few) >= length - 200);
  CHECK(strlen(few) == sizeof few - 1 && memcmp(few, text, 20) == 0);
  CHECK(pktmalloc_statistics_json(NULL, 0) >= length - 200);

  // A caller that knows fewer fields.
  uint64_t first = 0, second = 4711;
  uint64_t two[2] = {first, second};
  CHECK(pktmalloc_get_statistics((struct pktmalloc_statistics*)two, sizeof first) == bytes);
  CHECK(two[1] == 4711 && two[0] == after.allocated_bytes);
  return 0;
}
