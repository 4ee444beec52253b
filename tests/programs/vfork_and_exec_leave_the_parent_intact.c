// SPDX-License-Identifier: MIT
#include <pthread.h>

#include "child.h"

static void* run(void* unused) {
  (void)unused;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    wait_for_child(child);
    use_heap((uint64_t)i, 100, 14);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
