// SPDX-License-Identifier: MIT
// Sampler: chooses allocations for the heap profile or the sampled guard, without a look at the
// others.
//
// Sample points are a Poisson process over what is handed out. For the profile that is bytes: each
// is a point with probability 1/rate, so a size's probability is 1 - exp(-bytes/rate) (like
// tcmalloc's and jemalloc's profiles). Bytes handed out are those of the object; in a class, the
// class's size. For the guard it is objects. Every class of every thread has its own process;
// together they are one.
//
// The fast path has no countdown. Instead the thread's loaded magazine is marked: kEmptyMark
// replaces the object whose allocation will cross the next sample point (Cache::mark_after), so
// just that call reaches the slow path. The next allocator, the guard, or a block serves samples:
// their frees then reach the slow path too, and no others do.
//
// That is exact if allocations walk down the magazine. So for the profile a thread releases into a
// second cache, which meets the first one in the depot. The guard needs no exactness and does
// without: there a mark that the thread does not reach, because it hovers above, is made up for at
// its next trip.
//
// A thread without sampler or second cache, because the system refused it, has no samples. Nor does
// a thread before it has a cache or after it has given it back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/stacks/stacks.h"
#include "sizeclass/base/class_id.h"

namespace pktmalloc {

// What is remembered about a sampled object.
struct Sample {
  size_t bytes;          // requested, lately
  size_t sampled_bytes;  // size it was sampled for
  uint64_t born;         // the thread's allocations by then
  uint32_t owner;        // the sums that keep it
  ClassId id;            // the class that would have served it, or kNoClass
  bool is_temporary;     // once released
};

// What to do with a sample. It may not allocate through malloc while it holds a lock of its own,
// and keeps errno. p is not null; sample.owner and sample.born are not known yet.
using SampleHandler = void (*)(void* p, const Sample& sample, Site site);

enum class SampleUnit : uint8_t { kByte, kObject };

// Once. One sample in `rate` units on average; 1: every allocation. At load all allocations count
// from now on; while the program runs, those of a thread from its next slow path on.
void sample(uint64_t rate, SampleUnit unit, SampleHandler taken);

// While sampling: no further samples, or samples again, in each thread from its next slow path on.
// False: so it was.
bool pause_sampling(bool pause);

// With units of bytes: how likely an object of this size is sampled: 1 - exp(-bytes/rate).
double sample_probability(size_t bytes);

// How often this thread has allocated, counted from a number of its own, so that those of two
// threads do not lie near each other; 0: not known.
uint64_t thread_allocations();

inline constinit std::atomic<bool> sampling = false;

// For slow_path.cpp, when `sampling`. Before an allocation in the thread's own cache: true if it is
// a sample; then somebody else serves it and sample_taken() follows.
bool sample_due(ClassId id, size_t bytes);
// After an allocation for which sample_due() was asked. Not served: the class is exhausted, and the
// next allocator serves it.
void sample_mark(ClassId id, bool served);
void sample_taken(void* p, size_t bytes, Site site);

}  // namespace pktmalloc
