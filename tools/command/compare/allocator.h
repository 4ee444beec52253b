// SPDX-License-Identifier: MIT
// Allocator: a malloc that can be put under a program, found on this machine or named by the user.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

struct Allocator {
  std::string name;
  std::string library;  // absolute; "" for glibc, which needs no preload
};

// glibc, then the others. Without `wanted` those that are on this machine and pktmalloc, which must
// be; otherwise those of the list alone, "jemalloc" or "mine=/path/lib.so". Throws Failure when one
// is not there or cannot be preloaded.
std::vector<Allocator> find_allocators(const std::vector<std::string>& wanted);

}  // namespace pktmalloc
