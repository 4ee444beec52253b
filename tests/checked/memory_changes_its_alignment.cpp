// SPDX-License-Identifier: MIT
// The same memory serves objects of one alignment after another. Each is written except where the
// canaries of former ones may lie, so remains of headers are in it, and nothing is wrong with it.
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kMemory = 65000, kHeader = 32, kCanary = 8;

void take(size_t alignment) {
  const size_t bytes = kMemory - alignment;
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes) != 0) abort();
  for (size_t at = 0; at + kHeader <= bytes; at += kHeader) {
    memset(static_cast<char*>(p) + at, 'x', kHeader - kCanary);
  }
  free(p);
}

}  // namespace

int main() {
  for (size_t last = 64; last <= 16384; last *= 2) {
    for (size_t alignment = 16384; alignment >= 16; alignment /= 2) take(alignment);
    take(last);
  }
}
