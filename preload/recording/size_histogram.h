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

#include "preload/base/mapping.h"
#include "preload/formats/sizes.h"
#include "preload/recording/peak.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/congruence.h"

namespace pktmalloc {

class SizeHistogram {
 public:
  static constexpr unsigned kRowBits = 19;
  static constexpr uint32_t kMostRows = (1U << kRowBits) - 1;
  static constexpr uint32_t kNoRow = 0;

  // False when the system refuses memory.
  bool start() {
    rows_ = static_cast<Row*>(map_lazily(sizeof(Row) << kRowBits));
    slots_ = static_cast<uint32_t*>(map_lazily(sizeof(uint32_t) << kSlotBits));
    return rows_ != nullptr && slots_ != nullptr;
  }

  // The row of such requests; kNoRow when there are too many kinds.
  uint32_t find(size_t bytes, size_t alignment) {
    size_t slot = next_number(bytes ^ alignment << 32) >> (64 - kSlotBits);
    for (; slots_[slot] != kNoRow; slot = (slot + 1) & kSlotMask) {
      const SizeCounts& there = rows_[slots_[slot]].counts;
      if (there.bytes == bytes && there.alignment == alignment) return slots_[slot];
    }
    if (count_ == kMostRows) return kNoRow;
    const uint32_t row = slots_[slot] = ++count_;
    SizeCounts& counts = rows_[row].counts;
    counts.bytes = bytes;
    counts.alignment = alignment;
    if (recording::SizeRow* const recorded = recorded_.add(row)) recorded->counts = counts;
    if (recording::Header* const header = recording_here()) {
      header->sizes.store(row + 1, std::memory_order_release);
    }
    return row;
  }

  // By a thread that has not used the row before, or has.
  void add_object(uint32_t number, bool by_another_thread) {
    Row& row = rows_[number];
    ++row.counts.calls;
    row.counts.threads += by_another_thread ? 1 : 0;
    peak_.add(row.peaks, row.live, uint64_t{1}, bytes_for_peak(row.counts));
    record(number);
  }
  void remove_object(uint32_t number) {
    Row& row = rows_[number];
    peak_.remove(row.peaks, row.live, uint64_t{1}, bytes_for_peak(row.counts));
    record(number);
  }

  // Rows are 1 to rows().
  uint32_t rows() const { return count_; }

  // For a report, one at a time: returns the bytes of the highest peak so far; what rows held then
  // stays until the next pin.
  uint64_t pin_peak() { return static_cast<uint64_t>(peak_.pin()); }
  SizeCounts at_pinned_peak(uint32_t number) const {
    const Row& row = rows_[number];
    SizeCounts counts = row.counts;
    counts.live_at_peak = peak_.at_pinned(row.peaks, row.live);
    return counts;
  }

  // Keeps the objects; calls, threads and the peak begin anew.
  void begin_anew() {
    for (uint32_t i = 1; i <= count_; ++i) {
      rows_[i].counts.calls = 0;
      rows_[i].counts.threads = 0;
    }
    peak_.begin_anew();
  }

 private:
  static constexpr size_t kSlotBits = kRowBits + 1;  // at most half full
  static constexpr size_t kSlotMask = (size_t{1} << kSlotBits) - 1;

  static double bytes_for_peak(const SizeCounts& counts) {
    return counts.bytes <= kLargestAtPeak ? static_cast<double>(counts.bytes) : 0;
  }

  struct Row {
    SizeCounts counts;  // but for those at the peak
    uint64_t live;      // objects
    PlacePeaks<uint64_t> peaks;
  };

  void record(uint32_t number) {
    recording::SizeRow* const recorded = recorded_.find(number);
    if (recorded == nullptr) return;
    const Row& row = rows_[number];
    record_held(*recorded, recorded->counts.live_at_peak, row.peaks);
    recorded->counts.calls = row.counts.calls;
    recorded->counts.threads = row.counts.threads;
    recorded->live = row.live;
    recording_here()->size_peak.store(peak_.number(), std::memory_order_release);
  }

  Row* rows_ = nullptr;
  uint32_t* slots_ = nullptr;  // row numbers, by hash of bytes and alignment
  uint32_t count_ = 0;
  Peak peak_;
  RecordedArray<recording::SizeRow, recording::ChunkKind::kSizes> recorded_;
};

}  // namespace pktmalloc
