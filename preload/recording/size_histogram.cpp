// SPDX-License-Identifier: MIT
#include "preload/recording/size_histogram.h"

#include "preload/base/mapping.h"
#include "sizeclass/base/congruence.h"

namespace pktmalloc {
namespace {

constexpr size_t kSlotBits = SizeHistogram::kRowBits + 1;  // at most half full
constexpr size_t kSlotMask = (size_t{1} << kSlotBits) - 1;
constexpr uint64_t kOneObject = 1;

double bytes_for_peak(const SizeCounts& counts) {
  return counts.bytes <= kLargestAtPeak ? static_cast<double>(counts.bytes) : 0;
}

}  // namespace

bool SizeHistogram::start() {
  rows_ = static_cast<Row*>(map_lazily(sizeof(Row) << kRowBits));
  slots_ = static_cast<uint32_t*>(map_lazily(sizeof(uint32_t) << kSlotBits));
  return rows_ != nullptr && slots_ != nullptr;
}

uint32_t SizeHistogram::find(size_t bytes, size_t alignment) {
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

void SizeHistogram::add_object(uint32_t number, bool by_another_thread) {
  Row& row = rows_[number];
  ++row.counts.calls;
  row.counts.threads += by_another_thread ? 1 : 0;
  peak_.add(row.peaks, row.live, kOneObject, bytes_for_peak(row.counts));
  record(number);
}

void SizeHistogram::remove_object(uint32_t number) {
  Row& row = rows_[number];
  peak_.remove(row.peaks, row.live, kOneObject, bytes_for_peak(row.counts));
  record(number);
}

void SizeHistogram::record(uint32_t number) {
  recording::SizeRow* const recorded = recorded_.find(number);
  if (recorded == nullptr) return;
  const Row& row = rows_[number];
  record_held(*recorded, recorded->counts.live_at_peak, row.peaks);
  recorded->counts.calls = row.counts.calls;
  recorded->counts.threads = row.counts.threads;
  recorded->live = row.live;
  recording_here()->size_peak.store(peak_.number(), std::memory_order_release);
}

SizeCounts SizeHistogram::at_pinned_peak(uint32_t number) const {
  const Row& row = rows_[number];
  SizeCounts counts = row.counts;
  counts.live_at_peak = peak_.at_pinned(row.peaks, row.live);
  return counts;
}

void SizeHistogram::begin_anew() {
  for (uint32_t i = 1; i <= count_; ++i) {
    rows_[i].counts.calls = 0;
    rows_[i].counts.threads = 0;
  }
  peak_.begin_anew();
}

}  // namespace pktmalloc
