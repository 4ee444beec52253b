// SPDX-License-Identifier: MIT
// Does as servers do that show their state in their title: writes over arguments and environment,
// which lie one behind the other.
#include <string.h>

extern char** environ;

int main(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) memset(argv[i], '/', strlen(argv[i]));
  for (char** variable = environ; *variable != NULL; ++variable)
    memset(*variable, 'x', strlen(*variable));
  return 0;
}
