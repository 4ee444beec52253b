// SPDX-License-Identifier: MIT
// Takes a large object and frees it, over and over, and writes little of it. Between two calls of
// getppid, for whoever watches it.
#include <stdlib.h>
#include <unistd.h>

int main() {
  getppid();
  for (int i = 0; i < 5000; ++i) {
    char* volatile const object = static_cast<char*>(malloc(1 << 20));
    object[0] = object[(1 << 20) - 1] = 1;
    free(object);
  }
  getppid();
}
