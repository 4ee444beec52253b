// SPDX-License-Identifier: MIT
// Says hello on stdout and ends with status 7: what options and reports must leave untouched.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  char* text = malloc(100);
  snprintf(text, 100, "hello\n");
  fputs(text, stdout);
  free(text);
  return 7;
}
