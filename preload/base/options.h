// SPDX-License-Identifier: MIT
// Options: the PKTMALLOC_ environment variables, read once at start, from one table (options.def).
//
// An unknown name or a rejected value costs one line on stderr, and the default holds. Setuid
// programs ignore the environment. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/formats/format.h"
#include "sizeclass/base/class_id.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {

// In the order of their words (options.cpp).
enum class Switch : uint8_t { kOff, kOn, kAuto };
enum class Control : uint8_t { kWhenCalled, kAlways, kNever };
enum class StackWalk : uint8_t { kUnwind, kFramePointers };

// So many bytes, or a share of what there is; both 0: none.
struct MemoryShare {
  uint64_t bytes;
  unsigned percent;
};

// The table holds the defaults.
struct Options {
  const char* stats_path;               // nullptr: none; "": text on stderr
  uint64_t stats_interval_ms;           // 0: none
  Control control;                      // obeys pktmalloc tell
  const char* sizes_path;               // nullptr: none
  const char* recording_path;           // nullptr: none
  int tell;                             // the process that names its file; 0: none
  int leak_check;                       // the process that looks for leaks at exit; 0: none
  bool children;                        // programs that this one starts get the library too
  const char* next_path;                // nullptr: the next one in the process
  size_t class_sizes[kMaxClasses - 1];  // ascending
  unsigned class_count;                 // 0: the default table
  MemoryShare limit, soft_limit;
  struct Reserve {
    size_t bytes;
    uint64_t objects;
  };
  Reserve reserve[64];
  unsigned reserve_count;
  bool reserve_huge;
  HugePages huge_pages;
  uint64_t age_ms;
  Switch background;
  const char* trace_path;  // nullptr: none
  bool verbose;
  const char* profile_path;     // nullptr: none
  uint64_t given_profile_rate;  // 0: auto
  StackWalk profile_stacks;
  int profile_depth;  // frames
  bool profile_threads;
  bool profile_leaks;     // on stderr at exit
  uint64_t sample_guard;  // one object in so many; 0: none
  bool check_reports;     // reports a finding and goes on, instead of aborting
  // Of the hardened library.
  size_t clear_bytes;  // of each freed object
  bool canary;
  // Of the checked library.
  size_t quarantine_bytes;
  int quarantine_rate;  // one freed object in so many waits there
  size_t guard_size;    // 0: none

  // Bytes a sample. A leak is small, and who looks for one waits for it.
  uint64_t profile_rate() const {
    if (given_profile_rate != 0) return given_profile_rate;
    return profile_leaks ? 1 : 512 << 10;
  }
};

// At start, by one thread. Does nothing if already done, or while libc does not know the
// environment yet.
void read_options();

// At load, for PKTMALLOC_CHILDREN=0: removes this library from LD_PRELOAD and every PKTMALLOC_
// variable from the environment, so that programs that this one starts run without the library. It
// works in place, so that a program that reads main's third argument sees it too. Allocates
// nothing.
void leave_environment();

const Options& options();

// The program's name without its folder, as it was at start.
const char* program_name();

// With the present moment.
Origin this_process();

// The process's folder at start, if an option names a file by a relative path; "" if none does, or
// if that folder is gone.
const char* start_folder();

}  // namespace pktmalloc
