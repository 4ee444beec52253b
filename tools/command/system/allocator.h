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

inline constexpr const char* kGlibc = "glibc";

// Those on this machine: glibc first, pktmalloc, which must be there, last.
std::vector<Allocator> installed_allocators();

// "glibc", "jemalloc", "mine=/path/lib.so". Throws Failure when it is not there; `asker` is the
// subcommand that says so.
Allocator find_allocator(const std::string& wanted, const std::string& asker);

}  // namespace pktmalloc
