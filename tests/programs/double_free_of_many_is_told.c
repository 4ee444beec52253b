// SPDX-License-Identifier: MIT
// Found at the call, since a thread has what the one before left. Prints the address.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static void* run(void* object) {
  free(object);
  return NULL;
}

int main(void) {
  void* object = malloc(2000);
  printf("%p\n", object);
  fflush(stdout);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, object) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  CHECK(!"the double free was not found");
  return 0;
}
