// SPDX-License-Identifier: MIT
// The life of the process: start at the first request (before any constructor if need be), threads
// that come and go, fork, exit. Everything here is cold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// Not in the child of vfork, which works in its parent's memory.
bool in_own_memory();

// Memory is refused: see Part::refused. True if a part let go.
bool let_waiting_go(size_t bytes);

// Number of forks from the process that loaded the library down to this one.
const std::atomic<uint64_t>& fork_count();

}  // namespace pktmalloc
