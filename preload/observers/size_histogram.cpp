// SPDX-License-Identifier: MIT
#include "preload/observers/size_histogram.h"

#include "preload/base/mapping.h"
#include "preload/base/newer_libc.h"
#include "preload/contract/sizes.h"

namespace pktmalloc {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kBoth = std::memory_order_acq_rel;
constexpr size_t kSlotBits = SizeHistogram::kRowBits + 1;  // at most half full
constexpr size_t kSlotMask = (size_t{1} << kSlotBits) - 1;

size_t home(size_t bytes, size_t alignment) {
  return (bytes ^ alignment << 32) * 0x9E3779B97F4A7C15 >> (64 - kSlotBits);
}

// Adds and returns the sum. A process with one thread needs no locked instruction. Partner:
// live_since().
template <typename Number>
Number add_to(std::atomic<Number>& sum, Number n) {
  if (!has_one_thread()) return sum.fetch_add(n, kRelease) + n;
  const Number more = sum.load(kRelaxed) + n;
  sum.store(more, kRelease);
  return more;
}

uint64_t bytes_for_peak(const SizeHistogram::Row& row) {
  return row.bytes <= kLargestAtPeak ? row.bytes : 0;
}

// What the row held at a peak, provided that `held` is of this peak or an earlier one: then the row
// has not changed since.
uint64_t live_since(const SizeHistogram::Row& row, uint64_t tag) {
  // Partners: the changes of both, in this order, in note_held() and add_to().
  for (uint64_t held = row.held.load(kAcquire);;) {
    if (has_peak_tag(held, tag)) return held & kPeakObjects;
    const uint64_t live = static_cast<uint64_t>(row.live.load(kAcquire));
    const uint64_t again = row.held.load(kAcquire);
    if (again == held) return live & kPeakObjects;
    held = again;
  }
}

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
  if (recording::SizeRow* const recorded = recorded_.add(row)) {
    recorded->bytes = bytes;
    recorded->alignment = alignment;
  }
  if (recording::Header* const header = recording_here()) {
    header->sizes.store(row + 1, std::memory_order_release);
  }
  slots_[slot].store(row, std::memory_order_release);
  count_.store(row, std::memory_order_release);  // partner: rows()
  return row;
}

// Called before a change. The thread that loses the race finds it done. The peak is loaded after
// `held`, so it is no earlier one.
void SizeHistogram::note_held(Row& row, recording::SizeRow* recorded) {
  uint64_t held = row.held.load(kAcquire);
  const uint64_t tag = peak_tag(peak_bytes_.load());  // in one order with pin_peak()
  if (has_peak_tag(held, tag)) return;
  keep_pinned(row);
  const uint64_t live = static_cast<uint64_t>(row.live.load(kAcquire));
  const uint64_t now = tag | (live & kPeakObjects);
  if (!row.held.compare_exchange_strong(held, now, kBoth)) return;
  if (recorded != nullptr) recorded->held.store(now, kRelaxed);
}

// The highest one stays, whoever comes last.
void SizeHistogram::record_peak(uint64_t peak) {
  recording::Header* const header = recording_here();
  if (header == nullptr) return;
  uint64_t before = header->size_peak_bytes.load(kRelaxed);
  while (peak > before && !header->size_peak_bytes.compare_exchange_weak(before, peak, kRelaxed)) {
  }
}

// Likewise the pin is no earlier than `kept`. A thread that knows a peak above the pinned one also
// knows the pin: it was there when pin_peak() looked at the peak again.
void SizeHistogram::keep_pinned(Row& row) {
  uint64_t kept = row.kept.load(kAcquire);
  const uint64_t tag = peak_tag(pinned_bytes_.load());
  if (has_peak_tag(kept, tag)) return;
  row.kept.compare_exchange_strong(kept, tag | live_since(row, tag), kBoth);
}

uint64_t SizeHistogram::pin_peak() {
  for (;;) {
    const uint64_t peak = peak_bytes_.load();
    pinned_bytes_.store(peak);
    if (peak_bytes_.load() == peak) return peak;
  }
}

uint64_t SizeHistogram::live_at_pinned_peak(const Row& row) const {
  const uint64_t tag = peak_tag(pinned_bytes_.load(kRelaxed));
  const uint64_t live = live_since(row, tag);
  const uint64_t kept = row.kept.load(kAcquire);  // was there before `held` was of a later peak
  return has_peak_tag(kept, tag) ? kept & kPeakObjects : live;
}

void SizeHistogram::add_object(uint32_t number) {
  Row& row = rows_[number];
  recording::SizeRow* const recorded = recorded_.find(number);
  const uint64_t calls = add_to(row.calls, uint64_t{1});
  note_held(row, recorded);
  const int64_t live = add_to(row.live, int64_t{1});
  if (recorded != nullptr) {
    recorded->calls.store(calls, kRelaxed);
    recorded->live.store(live, kRelaxed);
  }
  const uint64_t total = add_to(total_bytes_, bytes_for_peak(row));
  uint64_t peak = peak_bytes_.load(kRelaxed);
  while (total > peak && !peak_bytes_.compare_exchange_weak(peak, total)) {
  }
  if (total > peak) record_peak(total);
}

void SizeHistogram::remove_object(uint32_t number) {
  Row& row = rows_[number];
  recording::SizeRow* const recorded = recorded_.find(number);
  note_held(row, recorded);
  const int64_t live = add_to(row.live, int64_t{-1});
  if (recorded != nullptr) recorded->live.store(live, kRelaxed);
  add_to(total_bytes_, -bytes_for_peak(row));
}

void SizeHistogram::add_thread(uint32_t row) {
  const uint32_t threads = rows_[row].threads.fetch_add(1, kRelaxed) + 1;
  if (recording::SizeRow* const recorded = recorded_.find(row)) {
    recorded->threads.store(threads, kRelaxed);
  }
}

void SizeHistogram::begin_anew() {
  for (uint32_t i = 1; i <= rows(); ++i) {
    Row& row = rows_[i];
    row.calls.store(0, kRelaxed);
    row.threads.store(0, kRelaxed);
    row.held.store(0, kRelaxed);  // the parent's peaks may recur
    row.kept.store(0, kRelaxed);
  }
  pinned_bytes_.store(0, kRelaxed);
  peak_bytes_.store(total_bytes_.load(kRelaxed), kRelaxed);
}

}  // namespace pktmalloc
