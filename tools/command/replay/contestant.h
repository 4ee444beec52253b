// SPDX-License-Identifier: MIT
// Contestant: an allocator that a trace is played under.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

struct Contestant {
  std::string name;
  std::string library;  // to preload; "" for glibc
};

// "jemalloc", "mine=/path/lib.so"; none: all that are on this machine, glibc first and pktmalloc
// last. Throws Failure when one is not there.
std::vector<Contestant> contestants(const std::vector<std::string>& wanted);

// In the process that was started with `library` preloaded: the loader only warns of one that it
// cannot load. Throws Failure when it is not there.
void check_preloaded(const std::string& library);

}  // namespace pktmalloc
