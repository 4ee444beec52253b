// SPDX-License-Identifier: MIT
#include "preload/profile/recorded_places.h"

#include <atomic>
#include <cstring>

#include "preload/process/recording.h"

namespace pktmalloc {
namespace {

constinit RecordedArray<recording::Place> recorded{recording::ChunkKind::kPlaces};
constinit RecordedArray<uint64_t> recorded_frames{recording::ChunkKind::kFrames};
uint32_t frames_recorded = 0;

}  // namespace

void record_place(uint32_t number, const uintptr_t* frames, unsigned count, bool is_cut) {
  recording::Place* const place = recorded.add(number);
  if (place == nullptr) return;
  const uint32_t room = recording::kFramesInChunk - frames_recorded % recording::kFramesInChunk;
  if (count > room) frames_recorded += room;
  uint64_t* const place_frames = recorded_frames.add(frames_recorded);
  if (place_frames != nullptr) {
    memcpy(place_frames, frames, count * sizeof *frames);
    place->first_frame = frames_recorded;
    place->frame_count = count;
    frames_recorded += count;
  }
  place->is_cut = is_cut;
  recording_here()->places.store(number + 1, std::memory_order_release);
}

// The process may be killed anywhere in it: whoever reads finds no change of a place before what it
// held at the header's peak.
void record_sums(uint32_t number, const PlaceSums& sums, const PlacePeaks<Amount>& peaks,
                 uint64_t latest) {
  recording::Place* const place = recorded.find(number);
  if (place == nullptr) return;
  place->sums.peak = peaks.held.amount;
  place->held_at.store(peaks.held.peak, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
  place->sums.live = sums.live;
  place->sums.all = sums.all;
  place->sums.temporary = sums.temporary;
  recording_here()->profile_peak.store(latest, std::memory_order_release);
}

}  // namespace pktmalloc
