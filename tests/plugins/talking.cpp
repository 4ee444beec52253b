// SPDX-License-Identifier: MIT
// Says something in every program it is preloaded into.
#include <unistd.h>

[[gnu::constructor]] static void talk() {
  if (write(STDERR_FILENO, "I am here\n", 10) < 0) _exit(1);
}
