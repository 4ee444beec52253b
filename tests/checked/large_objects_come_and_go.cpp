// SPDX-License-Identifier: MIT
// Takes a large object and frees it, over and over, and writes little of it.
#include <stdlib.h>

int main() {
  for (int i = 0; i < 5000; ++i) {
    char* volatile const object = static_cast<char*>(malloc(1 << 20));
    object[0] = object[(1 << 20) - 1] = 1;
    free(object);
  }
}
