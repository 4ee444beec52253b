// SPDX-License-Identifier: MIT
// SizeHistogram: how often each size was requested, and how many objects of it were live when the
// program held most.
//
// One row per distinct request (bytes and alignment), made at its first occurrence and never
// removed. The peak (recording/peak.h) is the moment when the requested bytes of all live objects
// that count for it (formats/sizes.h: those that classes may serve) had the highest sum.
//
// Not synchronised. Memory comes from the system at first touch: 80 bytes a row and a part of 4 MiB
// for the index, 44 MiB at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/formats/sizes.h"
#include "preload/recording/peak.h"
#include "preload/recording/recording.h"

namespace pktmalloc {

class SizeHistogram {
 public:
  static constexpr unsigned kRowBits = 19;
  static constexpr uint32_t kMostRows = (1U << kRowBits) - 1;
  static constexpr uint32_t kNoRow = 0;

  // False when the system refuses memory.
  bool start();

  // The row of such requests; kNoRow when there are too many kinds.
  uint32_t find(size_t bytes, size_t alignment);

  // By a thread that has not used the row before, or has.
  void add_object(uint32_t row, bool by_another_thread);
  void remove_object(uint32_t row);

  // Rows are 1 to rows().
  uint32_t rows() const { return count_; }

  // For a report, one at a time: returns the bytes of the highest peak so far; what rows held then
  // stays until the next pin.
  uint64_t pin_peak() { return static_cast<uint64_t>(peak_.pin()); }
  SizeCounts at_pinned_peak(uint32_t row) const;

  // Keeps the objects; calls, threads and the peak begin anew.
  void begin_anew();

 private:
  struct Row {
    SizeCounts counts;  // but for those at the peak
    uint64_t live;      // objects
    PlacePeaks<uint64_t> peaks;
  };

  void record(uint32_t row);

  Row* rows_ = nullptr;
  uint32_t* slots_ = nullptr;  // row numbers, by hash of bytes and alignment
  uint32_t count_ = 0;
  Peak peak_;
  RecordedArray<recording::SizeRow, recording::ChunkKind::kSizes> recorded_;
};

}  // namespace pktmalloc
