// SPDX-License-Identifier: MIT
// Profile: which places of the program hold the memory (PKTMALLOC_PROFILE). It keeps the sampler's
// samples by address while they live, and sums them up by the stack that allocated them.
//
// For each stack it knows what is live, what was live when the process held most (peak.h), what was
// allocated in all, and what was temporary: freed by its thread before that made many other
// allocations.
//
// Unbiased: a sample taken with probability p stands for 1/p objects like it. It also sums the
// variance, so each estimate shows how sure it is.
//
// The child of a fork keeps its parent's live samples and sums.
//
// It has memory of its own. One lock guards the tables only; it is not held while a stack is
// unwound or anything is written. If memory is refused, further samples are counted as lost and not
// kept, and one line on stderr says so.
#pragma once

#include <cstdint>

#include "preload/formats/heap_profile.h"
#include "preload/formats/live_window.h"
#include "preload/recording/peak.h"
#include "preload/recording/sampler.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc {

// Of the objects that one stack allocated. In the table `peak` is unused: `peaks` tells it.
struct ProfileSums : PlaceSums {
  PlacePeaks<Amount> peaks;
  StackId stack;
  uint32_t next;  // with the same bucket
};

bool profiling();

// While the program runs, by one thread that holds threads_mutex, so that no fork is under way.
// From begin_profile() until end_profile() what is allocated goes into the profile; what of it is
// freed goes out of it in any case.
// Each returns nullptr, or why it does nothing.
const char* prepare_profile();  // before, without that lock
const char* begin_profile();
const char* end_profile();

// For slow_path.cpp, when `sampling`. p goes; most are no samples. Called before anybody else can
// get the memory. False: not a sample of the profile.
bool profile_released(void* p, Sample& sample);
// The sample released just now exists after all; it has so many bytes and is now at p.
void profile_kept(void* p, const Sample& sample, size_t bytes);

ProfileWindow profile_window();

// The heap profile of this process as text for pprof (formats/heap_profile.h), and for people the
// places that hold memory at exit (PKTMALLOC_PROFILE_LEAKS). Both allocate nothing.
void write_profile(Writer& out);
void write_leaks(Writer& out, bool has_room);  // on the stack, for readable names

// Of the files whose code is mapped (mapped_files.cpp), the program and its libraries, which give
// the addresses of a heap profile a meaning: where they are, and their build ids. Allocates
// nothing.
void write_mapped_files(Writer& out);
// Notes them in the recording, if there is one and they are others than at the last call. Opens no
// file: any thread may call it at any moment outside our locks.
void record_mapped_files();

}  // namespace pktmalloc
