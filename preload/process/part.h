// SPDX-License-Identifier: MIT
// Part: something of the library that takes part in the life of the process (process.cpp).
//
// The parts stand in one table, preload/parts.cpp, in the order of the ranks of their locks. What
// is to be done in the life of the process is done part by part in that order, what ends something
// in the reverse order. A part names what it needs; the rest is null.
#pragma once

namespace pktmalloc {

struct Part {
  // With the heap, at the first request of all; the thread that makes it holds the start's lock.
  void (*start)() = nullptr;
  // Once options are known and libraries may be loaded: before the program's own constructors
  // where the loader lets us choose.
  void (*load)() = nullptr;
  void (*thread_start)() = nullptr;  // in a thread that has got its cache
  void (*thread_exit)() = nullptr;   // in a thread that still has it; reverse order
  void (*last_thread)() = nullptr;   // no thread of the program has one any more; reverse order
  void (*exit)() = nullptr;          // the last look; reverse order
  void (*lock)() = nullptr;          // before a fork
  void (*unlock)() = nullptr;        // after it, in parent and child; reverse order
  void (*forked)() = nullptr;        // in the child, after unlock
};

extern const Part* const parts[];
extern const unsigned part_count;

}  // namespace pktmalloc
