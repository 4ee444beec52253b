// SPDX-License-Identifier: MIT
// Nothing: objects of no bytes begin at addresses of their own, 16 bytes apart, where nobody may
// read or write. There are 65,536, used in turn; any thread, no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc::hardened {

inline constexpr size_t kNothings = size_t{1} << 16;
inline constexpr size_t kNothingBytes = 16;

void start_nothing();

inline constinit uintptr_t nothing_begin = 0;  // 0: not to be had
inline bool is_nothing(const void* p) {
  return reinterpret_cast<uintptr_t>(p) - nothing_begin < kNothings * kNothingBytes &&
         nothing_begin != 0;
}

// nullptr: too many are in use.
void* take_nothing();

// For is_nothing(p).
bool is_live_nothing(const void* p);
bool give_nothing(void* p);  // false: it was not in use

}  // namespace pktmalloc::hardened
