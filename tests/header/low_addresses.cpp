// SPDX-License-Identifier: MIT
// Releases objects that the next allocator has at low addresses while the list is empty, as inlined
// code that was compiled for another size. Linked with -no-pie and run at fixed addresses, which
// puts glibc's heap right behind the program. Ends with 1 if one of them comes back as another
// object.
#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "pktmalloc.hpp"

int main(int, char** argv) {
  if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0) {
    personality(ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", argv);
  }
  pktmalloc::release<64>(pktmalloc::allocate<64>());  // the class is known now
  std::free(std::malloc(1 << 20));                    // from now on glibc takes such from its heap
  int low = 0;
  for (int i = 0; i < 3000; ++i) {  // one more object each time, so the list is empty at times
    void* const other = std::malloc(1 << 20);
    low += reinterpret_cast<std::size_t>(other) < (std::size_t{64} << 20);
    pktmalloc::release<64>(other);
    if (pktmalloc::allocate<64>() == other) return 1;
  }
  std::printf("%d\n", low);
}
