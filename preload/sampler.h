// SPDX-License-Identifier: MIT
// Sampler: which allocations the heap profile looks at, without a look at the others.
//
// Sample points are a Poisson process over the bytes handed out: of `rate` bytes each one is
// sampled with probability 1/rate, so a size's probability is 1 - exp(-bytes/rate) (as tcmalloc's
// and jemalloc's profiles). Every class of every thread has a process of its own; together they are
// one.
//
// The fast path has no countdown. Instead the thread's loaded magazine is marked: where the
// allocation that crosses the next sample point will come, kEmptyMark lies in the place of the
// object (Cache::mark_after), so just that call arrives in the slow path. For that, allocations
// must walk down the magazine: while sampling, a thread releases into a second cache, which meets
// the first one in the depot. What is sampled is served by the next allocator: its free then
// arrives in the slow path too, and no other does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/class_id.h"

namespace pktmalloc {

// What is done with samples (the profile). Neither may allocate through malloc while it holds a
// lock of its own; both keep errno.
struct Samples {
  // p is not null; allocated for a request of `bytes`.
  void (*taken)(void* p, size_t bytes);
  // p goes; most are no samples. Before the memory can be anybody else's.
  void (*released)(void* p);
};

// At load, before the program has a second thread. `rate` in bytes; 1: every allocation.
void sample(uint64_t rate, const Samples& samples);

extern bool sampling __attribute__((visibility("hidden")));

// For process.cpp, when `sampling`: the calling thread has got its cache, or loses it.
void sampler_attach();
void sampler_detach();

// For route.cpp, when `sampling`. Before an allocation in the thread's own cache: true if it is one
// of the samples; then the next allocator serves it and sample_taken() follows.
bool sample_due(ClassId id, size_t bytes);
// After an allocation that sample_due() was asked about.
void sample_mark(ClassId id);
void sample_taken(void* p, size_t bytes);
void sample_released(void* p);

}  // namespace pktmalloc
