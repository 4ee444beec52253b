// SPDX-License-Identifier: MIT
// Recording: what reports are made of, kept in a file that is mapped shared (PKTMALLOC_RECORDING,
// formats/recording_format.h). Whatever ends the process, the kernel keeps the file, and
// `pktmalloc run` or `pktmalloc recover` writes from it what the process no longer could.
//
// The library works on tables of its own, private memory as ever, and copies each change: a child
// of fork shares this mapping with its parent and must never write to it. The first word of a page
// that is wiped in such a child tells them apart, whatever made the child. A child has no
// recording. If the file takes no more, what does not fit is missing and counted; nothing else
// happens.
//
// Any thread. Allocates nothing through malloc; keeps errno.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/formats/recording_format.h"
#include "preload/recording/peak.h"

namespace pktmalloc {

inline constinit const bool* recording_alive = nullptr;
inline constinit recording::Header* recording_header = nullptr;

// nullptr: there is none, or it is the parent's.
inline recording::Header* recording_here() {
  return recording_alive != nullptr && *recording_alive ? recording_header : nullptr;
}

// In the child of a fork, before it goes on in the middle of something: whoever still has an
// address in the parent's recording writes to memory of his own from here on.
void leave_recording();

// The report of this process that a recording is to replace if need be: its place, with this number
// in it, from an option's pattern. nullptr: none; "": text on stderr.
void record_report(recording::Content content, const char* pattern, unsigned number);
// It is written.
void settle_report(recording::Content content);

// Will `pktmalloc run` find the recording, and write what this process could not?
bool recording_is_awaited();

// A chunk, zeroed; nullptr when it cannot be had. The reader sees it as the number-th of its kind.
void* add_chunk(recording::ChunkKind kind, uint32_t number);

// An array of recorded elements, by number. Not synchronised.
template <typename T, recording::ChunkKind kKind>
class RecordedArray {
 public:
  // nullptr: it is not recorded.
  T* find(uint32_t i) {
    const uint32_t n = i / kInChunk;
    if (n >= recording::kMostChunks || chunks_[n] == nullptr) return nullptr;
    return recording_here() != nullptr ? chunks_[n] + i % kInChunk : nullptr;
  }

  T* add(uint32_t i) {
    const uint32_t n = i / kInChunk;
    if (n < recording::kMostChunks && chunks_[n] == nullptr) {
      chunks_[n] = static_cast<T*>(add_chunk(kKind, n));
    }
    return find(i);
  }

 private:
  static constexpr uint32_t kInChunk = recording::kChunkBytes / sizeof(T);

  T* chunks_[recording::kMostChunks]{};
};

// Before each change of a recorded place: what it held at the latest peak, into `held`, a part of
// it. The process may be killed anywhere: whoever reads finds no change of a place before what it
// held at the header's peak.
template <typename Recorded, typename Amount>
void record_held(Recorded& place, Amount& held, const PlacePeaks<Amount>& peaks) {
  held = peaks.held.amount;
  place.held_at.store(peaks.held.peak, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
}

}  // namespace pktmalloc
