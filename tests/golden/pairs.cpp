// SPDX-License-Identifier: MIT
// Makes COUNT pairs of malloc and free, then COUNT of operator new and delete, all on the fast
// path. The instructions of each function are the difference between two counts (golden.py).
#include <cstdlib>
#include <new>

int main(int, char** argv) {
  const int count = atoi(argv[1]);
  for (int i = 0; i < count; ++i) free(malloc(64));
  for (int i = 0; i < count; ++i) ::operator delete(::operator new(64));
}
