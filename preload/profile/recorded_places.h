// SPDX-License-Identifier: MIT
// Recorded places: the heap profile's places as the recording keeps them, if there is one. Not
// synchronised.
#pragma once

#include <cstdint>

#include "preload/base/peak.h"
#include "preload/contract/heap_profile.h"

namespace pktmalloc {

// Places are numbered from 1, one after the other.
void record_place(uint32_t number, const uintptr_t* frames, unsigned count, bool is_cut);

// After each change. `latest` is the number of the latest peak.
void record_sums(uint32_t number, const PlaceSums& sums, const PlacePeaks<Amount>& peaks,
                 uint64_t latest);

}  // namespace pktmalloc
