// SPDX-License-Identifier: MIT
// Half a gibibyte of large objects, written to and freed: what the quarantine and the pool keep
// stays, 32 and 64 MiB.
#include <stdlib.h>
#include <string.h>

#include "../programs/check.h"
#include "../programs/resident.h"

int main() {
  static void* objects[32];
  for (void*& object : objects) {
    object = malloc(16 << 20);
    CHECK(object != nullptr);
    memset(object, 1, 16 << 20);
  }
  CHECK(resident_mib() > 512);
  for (void* object : objects) free(object);
  CHECK(resident_mib() < 104);
}
