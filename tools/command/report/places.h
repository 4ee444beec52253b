// SPDX-License-Identifier: MIT
// Places: where the committed memory and the bookkeeping of a process are, each byte counted once.
//
// They sum to committed_bytes + metadata_bytes. "In slabs" is what is left of slabs that hold an
// object: their free objects and the stretch at the end that fits none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "preload/formats/statistics.h"

namespace pktmalloc {

enum Place { kLive, kInThreads, kInDepot, kInSlabs, kEmptySlabs, kMetadata, kPlaces };

inline constexpr const char* kPlaceNames[kPlaces] = {"live",     "in threads",  "in depot",
                                                     "in slabs", "empty slabs", "metadata"};
inline constexpr const char* kPlaceMeanings[kPlaces] = {
    "objects in the program's hands",     "free, in magazines of threads",
    "free, waiting for any thread",       "rest of slabs that hold an object",
    "awaiting purge, or not yet touched", "magazines, slab records, caches"};

using Places = std::array<uint64_t, kPlaces>;

// Numbers of a running process need not fit each other; none of ours is below 0.
template <typename Statistics>
void split_active(Places& places, const Statistics& of) {
  uint64_t rest = of.active_bytes;
  for (const Place place : {kLive, kInThreads, kInDepot}) rest -= std::min(rest, places[place]);
  places[kInSlabs] = rest;
  places[kEmptySlabs] = of.free_bytes;
}

inline Places places_of(const ProcessStatistics& p) {
  Places places{p.allocated_bytes, p.cached_threads_bytes, p.cached_depot_bytes};
  split_active(places, p);
  places[kMetadata] = p.metadata_bytes;
  return places;
}

// A class has no metadata of its own.
inline Places places_of(const ClassStatistics& c) {
  Places places{c.live * c.object_bytes, c.cached_threads * c.object_bytes,
                c.cached_depot * c.object_bytes};
  split_active(places, c);
  return places;
}

inline uint64_t sum_of(const Places& places) {
  return std::accumulate(places.begin(), places.end(), uint64_t{0});
}

}  // namespace pktmalloc
