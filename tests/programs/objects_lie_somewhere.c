// SPDX-License-Identifier: MIT
// Prints where the first objects of some classes lie.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  for (size_t bytes = 64; bytes <= 1 << 16; bytes *= 4) printf("%p\n", malloc(bytes));
  return 0;
}
