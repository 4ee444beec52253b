// SPDX-License-Identifier: MIT
// The life of the process: start at the first request (before any constructor if need be), threads
// that come and go, fork, exit. Everything here is cold.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/heap.h"

namespace pktmalloc {

// Hidden already where it is declared: else every access would go through the global offset table.
extern constinit Heap heap __attribute__((visibility("hidden")));

// Starts the process if nobody has, and gives the calling thread a cache; nullptr when it must work
// on the slabs directly.
Cache* enter_thread();

// Forks that this process descends from, counted from where the library was loaded.
const std::atomic<uint64_t>& fork_count();

}  // namespace pktmalloc
