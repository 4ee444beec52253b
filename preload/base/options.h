// SPDX-License-Identifier: MIT
// Options: the PKTMALLOC_ environment variables, read once at start, from one table (options.def).
//
// An unknown name or a rejected value costs one line on stderr, and the default holds. Setuid
// programs ignore the environment. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/formats/format.h"
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

// The fields that the table names; it holds the defaults. A path that is not given is nullptr, that
// of statistics on stderr "". Class sizes ascend; none: the default ones.
struct Options {
  struct Reserve {
    size_t bytes;
    uint64_t objects;
  };
#define OPTION(NAME, library, run, field, ...) field;
#include "preload/formats/options.def"

  // Bytes a sample. A leak is small, and who looks for one waits for it.
  uint64_t profile_rate() const {
    if (given_profile_rate != 0) return given_profile_rate;
    return profile_leaks ? 1 : 512 << 10;
  }
  // Does it write any that may also be written while the program runs?
  bool reports() const {
    return stats_path != nullptr || profile_path != nullptr || sizes_path != nullptr;
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
