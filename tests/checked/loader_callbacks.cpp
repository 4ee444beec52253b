// SPDX-License-Identifier: MIT
// Allocates from ever new stacks while the loader's list of modules is locked, and meanwhile in
// other threads. An unwinder that locks anything of its own around that list would wait for ever.
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <thread>

namespace {

// Sixteen calls deep, in one of 65,536 ways.
[[gnu::noinline]] void* allocate_by(uint32_t way, int depth) {
  if (depth == 0) return malloc(10);
  void* p;
  if (way % 2 != 0) {
    p = allocate_by(way / 2, depth - 1);
    asm volatile("" : "+r"(p));
  } else {
    p = allocate_by(way / 2, depth - 1);
    asm volatile("nop" : "+r"(p));
  }
  return p;
}

void allocate_often() {
  for (uint32_t i = 0; i < 10000; ++i) free(allocate_by(i * 40503, 16));
}

int visit(dl_phdr_info*, size_t, void* number) {
  free(allocate_by(*static_cast<uint32_t*>(number) * 40503, 16));
  return 1;
}

}  // namespace

int main() {
  std::thread first(allocate_often), second(allocate_often);
  for (uint32_t i = 0; i < 10000; ++i) dl_iterate_phdr(visit, &i);
  first.join();
  second.join();
}
