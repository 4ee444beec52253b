// SPDX-License-Identifier: MIT
// Takes and frees 64-byte objects by the thousand, so that magazines come from the mail and go
// there: common trips (golden.py), most of them after the thread has looked at 16,384 objects for
// wrong frees. Before, it prints where its libraries lie.
#include <cstdio>
#include <cstdlib>

int main() {
  static void* objects[1000];
  alignas(64) char line[500];  // and so the stack begins a cache line, whatever the environment
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != nullptr) fputs(line, stdout);
  printf("%p %p\n", reinterpret_cast<void*>(malloc), reinterpret_cast<void*>(free));
  fflush(stdout);
  for (int round = 0; round < 50; ++round) {
    for (void*& object : objects) object = malloc(64);
    for (void* const object : objects) free(object);
  }
}
