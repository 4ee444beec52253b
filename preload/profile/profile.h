// SPDX-License-Identifier: MIT
// Profile: which places of the program hold the memory (PKTMALLOC_PROFILE). What the sampler takes
// is kept by address while it lives and summed up by the stack that allocated it.
//
// Unbiased: a sample that was taken with probability p stands for 1/p objects like it. Beside the
// sums lies their variance, so each estimate tells how sure it is.
//
// Memory of its own. One lock, held for the tables only: not while a stack is unwound, nor while
// anything is written. Where memory is refused, further samples are counted as lost and not kept,
// and one line on stderr says so.
#pragma once

#include <cstdint>

#include "preload/process/part.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc {

// Of the objects that one stack allocated, estimates.
struct ProfileSums {
  StackId stack;
  uint32_t next;                    // with the same bucket
  double live_objects, live_bytes;  // not freed yet
  double objects, bytes;            // since start
  double live_variance, variance;   // of the bytes
  uint64_t live_samples, samples;   // what they rest on

  ProfileSums& operator+=(const ProfileSums& other);
};

// Of a variance, the standard error. Without libm, whose function sets errno.
double square_root(double x);
// To the nearest whole number; 0 below. The same reason.
uint64_t rounded(double x);

// With the sampler's. The child of a fork goes on with what was live and summed up in its parent.
extern const Part profile_part;

bool profiling();

// Samples that could not be kept.
uint64_t profile_lost();

// Stacks so far: 1 to profile_stacks() - 1. Any thread; each is copied whole.
uint32_t profile_stacks();
ProfileSums profile_sums(uint32_t number);

// The frames that count, without those of this library. frames: kStackFrames.
unsigned profile_frames(StackId stack, uintptr_t* frames);

}  // namespace pktmalloc
