// SPDX-License-Identifier: MIT
// NextLibrary: the allocator that a user wants behind ours, for what is not pooled.
#pragma once

#include <string>

namespace pktmalloc {

// A mimalloc is loaded by the library itself, privately; any other is preloaded behind it.
struct NextLibrary {
  std::string variable;  // for PKTMALLOC_NEXT; empty: unset
  std::string preload;   // for LD_PRELOAD, behind ours; empty: none
};

// "" (nothing said), default, mimalloc, jemalloc, tcmalloc, or the path of an allocator. Throws
// Failure when it is none of these, or not there.
NextLibrary find_next_library(const std::string& name);

}  // namespace pktmalloc
