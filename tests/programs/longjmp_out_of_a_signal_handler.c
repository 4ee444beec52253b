// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "pattern.h"

static sigjmp_buf back;

static void handler(int number) { siglongjmp(back, number); }

// While realloc copies it holds no lock, and the block is still the caller's.
static void jump_out_of_realloc(uint64_t seed) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 16 * page;
  char* const block = aligned_alloc(page, bytes);
  CHECK(block != NULL);
  write_pattern(block, bytes, seed);
  CHECK(mprotect(block + 8 * page, page, PROT_NONE) == 0);
  const int jumped = sigsetjmp(back, 1);
  if (jumped == 0) free(realloc(block, 3 * bytes));
  CHECK(jumped == SIGSEGV);
  CHECK(mprotect(block + 8 * page, page, PROT_READ | PROT_WRITE) == 0);
  CHECK(has_pattern(block, bytes, seed));
  free(block);
}

int main(void) {
  signal(SIGUSR1, handler);
  signal(SIGSEGV, handler);
  for (uint64_t i = 0; i < 50; ++i) jump_out_of_realloc(i);
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
