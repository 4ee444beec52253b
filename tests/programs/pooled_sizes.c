// SPDX-License-Identifier: MIT
// Prints the class of each size that is given as an argument; 0: not pooled.
#include <stdio.h>
#include <stdlib.h>

#include "interface.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* block = malloc(strtoul(argv[i], NULL, 10));
    printf("%zu\n", pktmalloc_class_bytes(block));
    free(block);
  }
  return 0;
}
