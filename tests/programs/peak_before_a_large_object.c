// SPDX-License-Identifier: MIT
// 2000 objects of 5001 bytes and one of 256 KiB are written and freed, and then 200 live at once
// that are a byte larger.
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "interface.h"

enum { kObjects = 2000, kLarge = 200 };

static char* objects[kObjects];

static void hold(int count, size_t bytes) {
  for (int i = 0; i < count; ++i) {
    CHECK((objects[i] = malloc(bytes)) != NULL);
    memset(objects[i], i, bytes);
  }
}

static void drop(int count) {
  for (int i = 0; i < count; ++i) free(objects[i]);
}

int main(void) {
  hold(kObjects, 5001);
  char* const last = malloc(262144);
  CHECK(last != NULL);
  memset(last, 1, 262144);
  free(last);
  drop(kObjects);
  hold(kLarge, 262145);
  drop(kLarge);
  return 0;
}
