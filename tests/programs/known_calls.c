// SPDX-License-Identifier: MIT
// Calls of every kind, of sizes that nothing else asks for; tests of what sees every call know
// them. One object is released by another thread than its own, one stays.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static void* release(void* object) {
  free(object);
  return malloc(70001);
}

int main(void) {
  free(malloc(10007));
  void* grown = realloc(malloc(10009), 20011);
  grown = realloc(grown, 3000017);  // to the next allocator
  grown = realloc(grown, 4000037);  // within it
  grown = realloc(grown, 20021);    // and back
  CHECK(realloc(grown, 0) == NULL);
  free(calloc(3, 10037));
  free(aligned_alloc(256, 10039));
  void* aligned = NULL;
  CHECK(posix_memalign(&aligned, 1 << 16, 10061) == 0);
  free(aligned);
  free(memalign(32, 5000011));
  void* const refused = malloc((size_t)1 << 60);
  CHECK(refused == NULL);
  pthread_t thread;
  void* stays = NULL;
  CHECK(pthread_create(&thread, NULL, release, malloc(10067)) == 0);
  CHECK(pthread_join(thread, &stays) == 0);
  CHECK(stays != NULL);
  return 0;
}
