// SPDX-License-Identifier: MIT
// `pairs COUNT [BYTES]`: makes COUNT pairs of malloc and free, then COUNT of operator new and
// delete, all on the fast path; with BYTES, pairs of so many bytes, and frees null as often. The
// instructions of each function are the difference between two counts (golden.py).
#include <cstdlib>
#include <new>

int main(int argc, char** argv) {
  const int count = atoi(argv[1]);
  if (argc > 2) {
    const size_t bytes = strtoul(argv[2], nullptr, 10);
    for (int i = 0; i < count; ++i) free(malloc(bytes)), free(nullptr);
    return 0;
  }
  for (int i = 0; i < count; ++i) free(malloc(64));
  for (int i = 0; i < count; ++i) ::operator delete(::operator new(64));
}
