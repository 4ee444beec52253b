// SPDX-License-Identifier: MIT
// A forked child: what it does with the heap it inherited, and how its parent waits for it.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>

#include "check.h"
#include "pattern.h"
#include "random.h"

static inline void wait_for_child(pid_t child) {
  int status = 0;
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

// Allocates, checks that no object overlaps another, frees.
static inline void use_heap(uint64_t seed, size_t count, unsigned size_bits) {
  uint64_t random = seed * 2654435761u + 1;
  void** blocks = (void**)calloc(count, sizeof *blocks);
  size_t* bytes = (size_t*)calloc(count, sizeof *bytes);
  CHECK(blocks != NULL && bytes != NULL);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = random_size(&random, size_bits);
    CHECK((blocks[i] = malloc(bytes[i])) != NULL);
    write_pattern(blocks[i], bytes[i], i);
    if (i % 3 == 2) {
      const size_t old = i - next_random(&random) % 3;
      CHECK(has_pattern(blocks[old], bytes[old], old));
      free(blocks[old]);
      bytes[old] = random_size(&random, size_bits);
      CHECK((blocks[old] = malloc(bytes[old])) != NULL);
      write_pattern(blocks[old], bytes[old], old);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    CHECK(has_pattern(blocks[i], bytes[i], i));
    free(blocks[i]);
  }
  free(blocks);
  free(bytes);
}
