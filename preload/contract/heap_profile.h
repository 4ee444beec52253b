// SPDX-License-Identifier: MIT
// The heap profile as text for pprof: what it is made of, and its parts in their order. The library
// writes its own with them (profile/format_profile.cpp), and the pktmalloc command that of a
// process that ended before it could. Allocates nothing.
#pragma once

#include <cstdint>

#include "preload/contract/writer.h"

namespace pktmalloc {

inline constexpr unsigned kMostFrames = 32;

// Estimates for the objects that one place of the program allocated.
struct PlaceSums {
  double live_objects, live_bytes;  // not freed yet
  double objects, bytes;            // since start
  double live_variance, variance;   // of the bytes
  uint64_t live_samples, samples;   // the estimates rest on these

  PlaceSums& operator+=(const PlaceSums& other);
};

// The standard error for a variance. Without libm, whose function sets errno.
double square_root(double x);
// To the nearest whole number; 0 for negative numbers. Without libm for the same reason.
uint64_t rounded(double x);

struct ProfileOrigin {
  const char* program;
  const char* version;  // of the library
  int pid;
  uint64_t rate, lost;
};

void write_profile_head(Writer& out, const ProfileOrigin& origin, const PlaceSums& all);
// frames: return addresses, innermost first.
void write_profile_place(Writer& out, const PlaceSums& sums, const uint64_t* frames,
                         unsigned count);
// Here follow the executable lines of /proc/PID/maps and the build ids of the files.
void write_profile_mappings_head(Writer& out);
void write_profile_end(Writer& out);

}  // namespace pktmalloc
