// SPDX-License-Identifier: MIT
// The heap profile as text for pprof: what it is made of, and its parts in their order. The library
// writes its own with them (recording/profile.cpp), and the pktmalloc command that of a
// process that ended before it could. Allocates nothing.
#pragma once

#include <cstdint>

#include "preload/formats/format.h"

namespace pktmalloc {

inline constexpr unsigned kMostFrames = 256;  // of a stack

// An object is temporary if the thread that allocated it frees it before it made more than so many
// other allocations.
inline constexpr unsigned kFewAllocations = 4;

// An estimate.
struct Amount {
  double objects, bytes;
  double variance;   // of the bytes
  uint64_t samples;  // it rests on these

  Amount& operator+=(const Amount& other) { return add(other, 1); }
  Amount& operator-=(const Amount& other) { return add(other, -1); }

 private:
  Amount& add(const Amount& other, int sign) {
    objects += sign * other.objects;
    bytes += sign * other.bytes;
    variance += sign * other.variance;
    samples += sign > 0 ? other.samples : -other.samples;
    if (samples == 0) *this = {};  // nor are there rounding errors
    return *this;
  }
};

// Of the objects that one place of the program allocated.
struct PlaceSums {
  Amount live;  // not freed yet
  Amount peak;  // not freed when all places together held most
  Amount all;   // since start
  Amount temporary;

  PlaceSums& operator+=(const PlaceSums& other) {
    live += other.live;
    peak += other.peak;
    all += other.all;
    temporary += other.temporary;
    return *this;
  }
};

// What the comments of a file hold; raised when one changes its meaning. Files of version 1 do not
// tell it, and have neither peaks nor temporary objects.
inline constexpr int kProfileSchema = 2;

// The standard error for a variance; 0 for less than 1. An instruction (-fno-math-errno): the
// library does without libm, whose function sets errno.
double square_root(double x);
// To the nearest whole number; 0 for negative numbers.
uint64_t rounded(double x);

// Of so many rates' bytes in one place all but one in twenty have a sample: 1 - exp(-3).
inline constexpr uint64_t kSeldomMissed = 3;

struct ProfileOrigin : Origin {
  uint64_t rate, lost;
};

void write_profile_head(Writer& out, const ProfileOrigin& origin, const PlaceSums& all);
// Behind the frames of a stack, where threads are told apart: the thread's id with this bit, and
// the sixteen bytes of its name.
inline constexpr unsigned kThreadWords = 3;
inline constexpr uint64_t kThreadMark = uint64_t{1} << 63;
inline bool is_thread(uint64_t word) { return word >> 63 != 0; }
// A stack of return addresses, innermost first.
struct PlaceFrames {
  const uint64_t* frames;
  unsigned count;
  bool is_cut;  // there are more outside
};
void write_profile_place(Writer& out, const PlaceSums& sums, const PlaceFrames& stack);
// Between the two are the executable lines of /proc/PID/maps and the build ids of the files. A file
// without an end was cut off.
inline constexpr char kProfileMappings[] = "\nMAPPED_LIBRARIES:\n";
inline constexpr char kProfileEnd[] = "# end\n";

}  // namespace pktmalloc
