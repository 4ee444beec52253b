// SPDX-License-Identifier: MIT
// A buffer that grows in small steps is copied a few times, not at each step or class.
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kStep = 4000, kSteps = 1000, kMostMoves = 18 };

int main(void) {
  char* buffer = NULL;
  int moves = 0;
  for (int i = 1; i <= kSteps; ++i) {
    char* const grown = realloc(buffer, (size_t)i * kStep);
    CHECK(grown != NULL);
    moves += grown != buffer;
    buffer = grown;
    buffer[i * kStep - 1] = (char)i;
  }
  for (int i = 1; i <= kSteps; ++i) CHECK(buffer[i * kStep - 1] == (char)i);
  CHECK(moves <= kMostMoves);
  free(buffer);
  return 0;
}
