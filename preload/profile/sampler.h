// SPDX-License-Identifier: MIT
// Sampler: which allocations the heap profile looks at, without a look at the others.
//
// Sample points are a Poisson process over the bytes handed out: of `rate` bytes each one is
// sampled with probability 1/rate, so a size's probability is 1 - exp(-bytes/rate) (as tcmalloc's
// and jemalloc's profiles). Bytes handed out are those of the object: of a class, its size. Every
// class of every thread has a process of its own; together they are one.
//
// The fast path has no countdown. Instead the thread's loaded magazine is marked: where the
// allocation that crosses the next sample point will come, kEmptyMark lies in the place of the
// object (Cache::mark_after), so just that call arrives in the slow path. For that, allocations
// must walk down the magazine: while sampling, a thread releases into a second cache, which meets
// the first one in the depot. What is sampled is served by the next allocator: its free then
// arrives in the slow path too, and no other does.
//
// A thread whose sampler or second cache the system refuses has no samples. Nor has what a thread
// allocates before it has a cache and after it has given it back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/stacks/stacks.h"
#include "sizeclass/class_id.h"

namespace pktmalloc {

// A sampled object, as the one who keeps them remembers it.
struct Sample {
  size_t bytes;          // requested, lately
  size_t sampled_bytes;  // that it was sampled for
  uint32_t owner;        // what keeps it: its sums
  ClassId id;            // of the class that would have served it, or kNoClass
};

// What is done with samples (the profile). None may allocate through malloc while it holds a lock
// of its own; all keep errno.
struct SampleHandlers {
  // p is not null, sample.owner not known yet.
  void (*taken)(void* p, const Sample& sample, Site site);
  // p goes; most are no samples. Before the memory can be anybody else's. False: was none.
  bool (*released)(void* p, Sample& sample);
  // The sample that was released just now is there after all, and now at p: it was resized.
  void (*kept)(void* p, const Sample& sample);
};

// At load, before the program has a second thread. `rate` in bytes; 1: every allocation.
void sample(uint64_t rate, const SampleHandlers& handlers);

// How likely an object of so many bytes is sampled: 1 - exp(-bytes/rate).
double sample_probability(size_t bytes);

extern bool sampling __attribute__((visibility("hidden")));

// For process.cpp, when `sampling`: the calling thread has got its cache, or loses it.
void sampler_attach();
void sampler_detach();

// For slow_path.cpp, when `sampling`. Before an allocation in the thread's own cache: true if it is
// one of the samples; then the next allocator serves it and sample_taken() follows.
bool sample_due(ClassId id, size_t bytes);
// After an allocation that sample_due() was asked about. Not served: the class is exhausted, and
// the next allocator has it.
void sample_mark(ClassId id, bool served);
void sample_taken(void* p, size_t bytes, Site site);
bool sample_released(void* p, Sample& sample);
void sample_kept(void* p, const Sample& sample);

}  // namespace pktmalloc
