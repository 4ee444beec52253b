// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "check.h"
#include "interface.h"
#include "pattern.h"

static void* early[2][100];

static void allocate(int stage) {
  for (size_t i = 0; i < 100; ++i) {
    early[stage][i] = malloc(i * 50 + 8);
    CHECK(early[stage][i] != NULL && pktmalloc_class_bytes(early[stage][i]) > 0);
    write_pattern(early[stage][i], i * 50 + 8, i + 1);
  }
  void* large = calloc(1, 3 << 20);
  CHECK(large != NULL);
  large = realloc(large, 5 << 20);
  CHECK(large != NULL);
  free(large);
}

static void before_all(int argc, char** argv, char** environment) {
  (void)argc, (void)argv, (void)environment;
  allocate(0);
}

__attribute__((section(".preinit_array"), used)) static void (*const kFirst)(int, char**,
                                                                             char**) = before_all;

__attribute__((constructor(101))) static void early_constructor(void) { allocate(1); }

int main(void) {
  for (int stage = 0; stage < 2; ++stage) {
    for (size_t i = 0; i < 100; ++i) {
      CHECK(has_pattern(early[stage][i], i * 50 + 8, i + 1));
      free(early[stage][i]);
    }
  }
  return 0;
}
