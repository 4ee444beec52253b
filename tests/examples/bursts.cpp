// SPDX-License-Identifier: MIT
// Bursts in C++: with the library a copy, without it malloc and free in a loop.
#include <pktmalloc.hpp>

#include <cstdio>

int main() {
  constexpr std::size_t kBurst = 32;
  void* packets[kBurst];
  std::size_t taken = 0;
  for (int round = 0; round < 1000; ++round) {
    // Fewer than asked for only if there is no memory.
    const std::size_t count = pktmalloc::allocate_batch(1500, kBurst, packets);
    taken += count;
    pktmalloc::release_batch(packets, count);
  }
  std::printf("%zu\n", taken);
}
