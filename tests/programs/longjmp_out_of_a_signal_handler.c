// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

#include "check.h"
#include "pattern.h"

static sigjmp_buf back;

static void handler(int number) { siglongjmp(back, number); }

int main(void) {
  signal(SIGUSR1, handler);
  signal(SIGSEGV, handler);
  for (volatile int i = 0; i < 5000; ++i) {
    char* volatile block = malloc((size_t)i % 3000 + 16);
    CHECK(block != NULL);
    write_pattern(block, (size_t)i % 3000 + 16, (uint64_t)i);
    const int jumped = sigsetjmp(back, 1);
    if (jumped == 0) {
      if (i % 2 == 0) raise(SIGUSR1);
      *(volatile char*)16 = 1;
    }
    CHECK(jumped == (i % 2 == 0 ? SIGUSR1 : SIGSEGV));
    CHECK(has_pattern(block, (size_t)i % 3000 + 16, (uint64_t)i));
    free(block);
  }
  return 0;
}
