// SPDX-License-Identifier: MIT
// Where there is no memory to look with, mallinfo2 tells less, but nothing that cannot be.
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"

int main(void) {
  for (int i = 0; i < 1000; ++i) CHECK(malloc(5000) != NULL);
  const struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_DATA, &none) == 0);
  const struct mallinfo2 info = mallinfo2();
  CHECK(info.uordblks < (size_t)1 << 40 && info.arena < (size_t)1 << 40);
  CHECK(info.fordblks < (size_t)1 << 40);
  return 0;
}
