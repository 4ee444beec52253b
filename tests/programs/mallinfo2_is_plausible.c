// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // mallinfo

enum { kObjects = 10000, kBytes = 1024 };

// Samples of a heap profile are libc's, which adds a header and keeps some of what is freed.
static int near(size_t bytes, size_t expected) {
  const size_t slack = getenv("PKTMALLOC_PROFILE") != NULL ? kObjects * 64 : 0;
  return bytes >= expected && bytes <= expected + slack;
}

int main(void) {
  static void* objects[kObjects];
  const struct mallinfo2 before = mallinfo2();
  for (int i = 0; i < kObjects; ++i) CHECK((objects[i] = malloc(kBytes)) != NULL);
  const struct mallinfo2 held = mallinfo2();
  CHECK(near(held.uordblks, before.uordblks + kObjects * kBytes));
  CHECK(held.arena >= held.uordblks);
  CHECK(held.arena == held.uordblks + held.fordblks);
  CHECK((size_t)mallinfo().uordblks == held.uordblks);
  for (int i = 0; i < kObjects; ++i) free(objects[i]);
  const struct mallinfo2 freed = mallinfo2();
  CHECK(near(freed.uordblks, before.uordblks));
  // What guarded objects and libc's had goes back at once.
  const int is_sampled =
      getenv("PKTMALLOC_SAMPLE_GUARD") != NULL || getenv("PKTMALLOC_PROFILE") != NULL;
  CHECK(is_sampled || freed.fordblks >= kObjects * kBytes);
  // What the next allocator holds is in it as well.
  void* large = malloc(64 << 20);
  const struct mallinfo2 with_large = mallinfo2();
  CHECK(with_large.hblkhd + with_large.uordblks >= freed.hblkhd + freed.uordblks + (64 << 20));
  free(large);
  return 0;
}
