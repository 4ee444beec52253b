// SPDX-License-Identifier: MIT
#include "preload/size_histogram.h"

#include <sys/single_threaded.h>

#include "preload/mapping.h"

namespace pktmalloc {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kSlotBits = SizeHistogram::kRowBits + 1;  // half full at the most
constexpr size_t kSlotMask = (size_t{1} << kSlotBits) - 1;

size_t home(size_t bytes, size_t alignment) {
  return (bytes ^ alignment << 32) * 0x9E3779B97F4A7C15 >> (64 - kSlotBits);
}

// The sum. A process with one thread does without a locked instruction.
template <typename Number>
Number add_to(std::atomic<Number>& sum, Number n) {
  if (__libc_single_threaded == 0) return sum.fetch_add(n, kRelaxed) + n;
  const Number more = sum.load(kRelaxed) + n;
  sum.store(more, kRelaxed);
  return more;
}

uint32_t epoch_of(uint64_t held) { return static_cast<uint32_t>(held >> 32); }

}  // namespace

bool SizeHistogram::start() {
  rows_ = static_cast<Row*>(map_lazily(sizeof(Row) << kRowBits));
  slots_ = static_cast<std::atomic<uint32_t>*>(map_lazily(sizeof(uint32_t) << kSlotBits));
  return rows_ != nullptr && slots_ != nullptr;
}

uint32_t SizeHistogram::find(size_t bytes, size_t alignment) {
  for (size_t slot = home(bytes, alignment);; slot = (slot + 1) & kSlotMask) {
    // Partner: the store in add().
    const uint32_t row = slots_[slot].load(std::memory_order_acquire);
    if (row == kNoRow) return add(bytes, alignment, slot);
    if (rows_[row].bytes == bytes && rows_[row].alignment == alignment) return row;
  }
}

uint32_t SizeHistogram::add(size_t bytes, size_t alignment, size_t slot) {
  const Lock lock(mutex_);
  // Others may have taken the slot meanwhile, for this request or another one.
  for (;; slot = (slot + 1) & kSlotMask) {
    const uint32_t row = slots_[slot].load(kRelaxed);
    if (row == kNoRow) break;
    if (rows_[row].bytes == bytes && rows_[row].alignment == alignment) return row;
  }
  if (rows() == kMostRows) return kNoRow;
  const uint32_t row = rows() + 1;
  rows_[row].bytes = bytes;
  rows_[row].alignment = alignment;
  slots_[slot].store(row, std::memory_order_release);
  count_.store(row, std::memory_order_release);  // partner: rows()
  return row;
}

// Before a change. Who loses the race finds it done; a stale epoch is not put back.
void SizeHistogram::put_by(Row& row) {
  const uint32_t epoch = epoch_.load(kRelaxed);
  uint64_t held = row.held.load(kRelaxed);
  if (static_cast<int32_t>(epoch - epoch_of(held)) <= 0) return;
  const uint64_t live = static_cast<uint64_t>(row.live.load(kRelaxed));
  row.held.compare_exchange_strong(held, uint64_t{epoch} << 32 | (live & UINT32_MAX), kRelaxed);
}

void SizeHistogram::add_object(uint32_t number) {
  Row& row = rows_[number];
  add_to(row.calls, uint64_t{1});
  put_by(row);
  add_to(row.live, int64_t{1});
  const uint64_t total = add_to(total_bytes_, row.bytes);
  uint64_t peak = peak_bytes_.load(kRelaxed);
  while (total > peak) {
    if (!peak_bytes_.compare_exchange_weak(peak, total, kRelaxed)) continue;
    epoch_.fetch_add(1, kRelaxed);
    return;
  }
}

void SizeHistogram::remove_object(uint32_t number) {
  Row& row = rows_[number];
  put_by(row);
  add_to(row.live, int64_t{-1});
  add_to(total_bytes_, -row.bytes);
}

uint64_t SizeHistogram::live_at_peak(const Row& row) const {
  const uint64_t held = row.held.load(kRelaxed);
  if (epoch_of(held) == epoch_.load(kRelaxed)) return held & UINT32_MAX;
  return static_cast<uint64_t>(row.live.load(kRelaxed));
}

void SizeHistogram::begin_anew() {
  for (uint32_t i = 1; i <= rows(); ++i) {
    rows_[i].calls.store(0, kRelaxed);
    rows_[i].threads.store(0, kRelaxed);
  }
  peak_bytes_.store(total_bytes_.load(kRelaxed), kRelaxed);
  epoch_.fetch_add(1, kRelaxed);
}

}  // namespace pktmalloc
