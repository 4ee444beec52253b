// SPDX-License-Identifier: MIT
// The life of the process: start at the first request (before any constructor if need be), threads
// that come and go, fork, exit. Everything here is cold.
//
// Pieces of the library take part in it. One table, parts.def, lists these parts in the order of
// their locks' ranks. Each step of the process's life goes through them in that order, a step that
// ends something in the reverse order. A part fills in what it needs; the rest is null.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/mutex.h"

// Of files that few processes need, the functions that each one runs, and what runs around a fork,
// since a child's code is mapped anew: the linker puts them to the code that is always needed
// (segments.ld).
#define EVERY_PROCESS [[gnu::section(".text.startup")]]

namespace pktmalloc {

struct Part {
  // With the heap, at the very first request; the thread that makes it holds the start's lock.
  void (*start)() = nullptr;
  // Once options are known and libraries may be loaded: before the program's own constructors if
  // the loader lets us choose.
  void (*load)() = nullptr;
  void (*thread_start)() = nullptr;  // in a thread that has just got its cache
  void (*thread_exit)() = nullptr;   // in a thread that still has it; reverse order
  void (*last_thread)() = nullptr;   // no thread of the program has a cache any more; reverse order
  // Memory is refused. Of what waits in the library, as much as the calling thread can get at goes
  // back to the heap; false: not as many bytes may wait. Reverse order.
  bool (*refused)(size_t bytes) = nullptr;
  void (*exit)() = nullptr;  // the last look; reverse order
  // Held around a fork; reverse order for what follows it. Their ranks are the part's.
  Mutex* mutexes[2] = {};
  void (*lock)() = nullptr;    // before a fork, behind them
  void (*unlock)() = nullptr;  // after it, in parent and child, before they go
  void (*forked)() = nullptr;  // in the child, after all that; as they are listed
};

#define PART(name, library) extern const Part name##_part;
#include "preload/process/parts.def"

enum class PartId {
#define PART(name, library) name,
#include "preload/process/parts.def"
};

// Of its first lock, or its second. All come before the engine's, whose ranks begin at 0, and
// behind that of the start.
inline constexpr LockRank kStartRank{-256};
constexpr LockRank part_rank(PartId id, unsigned lock = 0) {
  return kStartRank + (1 + 2 * static_cast<unsigned>(id) + lock);
}

// The process that this memory belongs to. Not in the child of vfork, which works in its parent's,
// nor in that of a clone without fork handlers, where threads are missing.
pid_t process_id();
bool in_own_memory();

// Memory is refused: see Part::refused. True if a part let go.
bool let_waiting_go(size_t bytes);

// Starts the background thread (background.cpp) if it is wanted and missing. Cheap otherwise.
void background_consider();

// Number of forks from the process that loaded the library down to this one.
const std::atomic<uint64_t>& fork_count();

}  // namespace pktmalloc
