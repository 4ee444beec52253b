// SPDX-License-Identifier: MIT
// Sample guard: PKTMALLOC_SAMPLE_GUARD=N lets one object in N, on average, lie alone, with
// inaccessible pages on both sides, and makes its own pages inaccessible when it is freed
// (GWP-ASan: Serebryany et al. 2023). So the very instruction that reads or writes beyond it, or
// after its free, is reported, and so are wrong frees of it.
//
// An object lies at the end of its slot's data, rounded up to its alignment, or at random at the
// beginning. What is left of its pages holds a pattern, which its free checks.
//
// The sampler chooses; there are 4,096 slots of 256 KiB, which are reused in turn, so freed objects
// stay inaccessible as long as that allows. At most so many objects and 16 MiB live here.
//
// In the hardened library objects of no bytes lie so, too, all of them.
#pragma once

#include <cstddef>

#include "preload/guard/slot.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc {

// Are samples guarded? Else they are the profile's.
inline constinit bool guards_samples = false;

// Both: nullptr: too large, too aligned, no free slot, or no memory.
void* allocate_sampled(size_t bytes, size_t alignment);
void* allocate_nothing();  // no bytes

// For is_guarded(p). They report what is not the start of a live object, and after that do nothing.
void release_guarded(void* p, Site site);
inline constexpr size_t kNotLive = ~size_t{0};
size_t guarded_size(void* p, Site site);  // as requested; kNotLive: reported

}  // namespace pktmalloc
