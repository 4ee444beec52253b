// SPDX-License-Identifier: MIT
// The processor's clock around single calls. Before the start: what was begun earlier has ended,
// and the call has not begun. After the end: the call has ended, and what follows has not begun.
#pragma once

#include <cstdint>

namespace pktmalloc {

#if defined(__x86_64__)

inline uint64_t ticks_before() {
  uint32_t low, high;
  asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
  return uint64_t{high} << 32 | low;
}
// rdtscp waits for the call, lfence holds back what follows.
inline uint64_t ticks_after() {
  uint32_t low, high;
  asm volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "ecx", "memory");
  return uint64_t{high} << 32 | low;
}

#else

inline uint64_t ticks_before() {
  uint64_t ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
}
inline uint64_t ticks_after() { return ticks_before(); }

#endif

}  // namespace pktmalloc
