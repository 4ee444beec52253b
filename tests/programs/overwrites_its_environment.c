// SPDX-License-Identifier: MIT
// Does as servers do that show their state in their title: writes over arguments and environment,
// which lie one behind the other.
#include <string.h>

extern char** environ;

int main(void) {
  for (char** variable = environ; *variable != NULL; ++variable)
    memset(*variable, 'x', strlen(*variable));
  return 0;
}
