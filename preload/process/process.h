// SPDX-License-Identifier: MIT
// The life of the process: start at the first request (before any constructor if need be), threads
// that come and go, fork, exit. Everything here is cold.
#pragma once

#include <atomic>
#include <cstdint>

namespace pktmalloc {

// Forks that this process descends from, counted from where the library was loaded.
const std::atomic<uint64_t>& fork_count();

}  // namespace pktmalloc
