// SPDX-License-Identifier: MIT
#include "preload/observers/size_histogram.h"

#include <sys/single_threaded.h>

#include "preload/base/mapping.h"

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
  if (__libc_single_threaded == 0) return sum.fetch_add(n, kRelease) + n;
  const Number more = sum.load(kRelaxed) + n;
  sum.store(more, kRelease);
  return more;
}

// Two peaks of a program share a tag once in four thousand million. Not their lowest bits: a block
// of 4 GiB does not change these.
uint64_t tag_of(uint64_t peak_bytes) { return peak_bytes * 0x9E3779B97F4A7C15 >> 32 << 32; }

constexpr uint64_t kObjects = UINT32_MAX;

bool has_tag(uint64_t word, uint64_t tag) { return (word & ~kObjects) == tag; }

// What the row held at a peak, provided that `held` is of this peak or an earlier one: then the row
// has not changed since.
uint64_t live_since(const SizeHistogram::Row& row, uint64_t tag) {
  // Partners: the changes of both, in this order, in note_held() and add_to().
  for (uint64_t held = row.held.load(kAcquire);;) {
    if (has_tag(held, tag)) return held & kObjects;
    const uint64_t live = static_cast<uint64_t>(row.live.load(kAcquire));
    const uint64_t again = row.held.load(kAcquire);
    if (again == held) return live & kObjects;
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
  slots_[slot].store(row, std::memory_order_release);
  count_.store(row, std::memory_order_release);  // partner: rows()
  return row;
}

// Called before a change. The thread that loses the race finds it done. The peak is loaded after
// `held`, so it is no earlier one.
void SizeHistogram::note_held(Row& row) {
  uint64_t held = row.held.load(kAcquire);
  const uint64_t tag = tag_of(peak_bytes_.load());  // in one order with pin_peak()
  if (has_tag(held, tag)) return;
  keep_pinned(row);
  const uint64_t live = static_cast<uint64_t>(row.live.load(kAcquire));
  row.held.compare_exchange_strong(held, tag | (live & kObjects), kBoth);
}

// Likewise the pin is no earlier than `kept`. A thread that knows a peak above the pinned one also
// knows the pin: it was there when pin_peak() looked at the peak again.
void SizeHistogram::keep_pinned(Row& row) {
  uint64_t kept = row.kept.load(kAcquire);
  const uint64_t tag = tag_of(pinned_bytes_.load());
  if (has_tag(kept, tag)) return;
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
  const uint64_t tag = tag_of(pinned_bytes_.load(kRelaxed));
  const uint64_t live = live_since(row, tag);
  const uint64_t kept = row.kept.load(kAcquire);  // was there before `held` was of a later peak
  return has_tag(kept, tag) ? kept & kObjects : live;
}

void SizeHistogram::add_object(uint32_t number) {
  Row& row = rows_[number];
  add_to(row.calls, uint64_t{1});
  note_held(row);
  add_to(row.live, int64_t{1});
  const uint64_t total = add_to(total_bytes_, row.bytes);
  uint64_t peak = peak_bytes_.load(kRelaxed);
  while (total > peak && !peak_bytes_.compare_exchange_weak(peak, total)) {
  }
}

void SizeHistogram::remove_object(uint32_t number) {
  Row& row = rows_[number];
  note_held(row);
  add_to(row.live, int64_t{-1});
  add_to(total_bytes_, -row.bytes);
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
