// SPDX-License-Identifier: MIT
// What a refused request returns.
#pragma once

#include <cerrno>

namespace pktmalloc {

inline void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace pktmalloc
