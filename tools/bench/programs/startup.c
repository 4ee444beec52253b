// SPDX-License-Identifier: MIT
// A program that does nothing: what is resident once it has started.
//
// `startup` prints it in MiB. One small malloc comes first, for an allocator that sets itself up at
// the first request should not look smaller than one that does so at start. C, so that no C++
// library is loaded.
#include "resident.h"

int main(void) {
  void* volatile object = malloc(1);
  free(object);
  printf("{\"command\": \"startup\", \"mib\": %.3f}\n", resident_bytes() / (1024.0 * 1024.0));
}
