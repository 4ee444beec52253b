// SPDX-License-Identifier: MIT
// Size recording: PKTMALLOC_SIZES observes every call and records what the program asks for: for
// each size and alignment the calls, the objects live when the program held most, and the threads
// that used it. report.cpp writes the record as JSON, at exit and while the program runs;
// `pktmalloc tune` reads it.
//
// The child of a fork goes on recording: it keeps the live objects, but counts calls, threads and
// the peak anew. If memory for the record is refused, recording ends with one line on stderr; the
// file then says how many allocations are missing.
#include "preload/recording/observer.h"

#include <time.h>

#include <algorithm>
#include <bitset>
#include <utility>

#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/word_table.h"
#include "preload/formats/sizes.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/peak.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/machine.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

// A process with one thread does without: locked instructions were half of the cost.
constinit Mutex mutex{part_rank(PartId::size_recording)};  // guards what follows
struct SizesLock : Lock {
  SizesLock() : Lock(mutex, !has_one_thread()) {}
};

// How often each size was requested, and how many objects of it were live when the program held
// most: one row per distinct request (bytes and alignment), made at its first occurrence and never
// removed. The peak (recording/peak.h) is the moment when the requested bytes of all live objects
// that count for it (formats/sizes.h: those that classes may serve) had the highest sum.
//
// Memory comes from the system at first touch: 80 bytes a row and a part of 4 MiB for the index,
// 44 MiB at most.
struct Row {
  SizeCounts counts;  // but for those at the peak
  uint64_t live;      // objects
  PlacePeaks<uint64_t> peaks;
};
constexpr unsigned kRowBits = 19;
constexpr uint32_t kMostRows = (1U << kRowBits) - 1;
constexpr uint32_t kNoRow = 0;
constexpr size_t kSlotBits = kRowBits + 1;  // at most half full
Row* rows = nullptr;                        // 1 to row_count
uint32_t* slots = nullptr;                  // row numbers, by hash of bytes and alignment
uint32_t row_count = 0;
constinit Peak peak;
constinit RecordedArray<recording::SizeRow, recording::ChunkKind::kSizes> recorded_rows;

// The row of such requests; kNoRow when there are too many kinds.
uint32_t find_row(size_t bytes, size_t alignment) {
  size_t slot = next_number(bytes ^ alignment << 32) >> (64 - kSlotBits);
  for (; slots[slot] != kNoRow; slot = (slot + 1) % (size_t{1} << kSlotBits)) {
    const SizeCounts& there = rows[slots[slot]].counts;
    if (there.bytes == bytes && there.alignment == alignment) return slots[slot];
  }
  if (row_count == kMostRows) return kNoRow;
  const uint32_t row = slots[slot] = ++row_count;
  SizeCounts& counts = rows[row].counts;
  counts.bytes = bytes;
  counts.alignment = alignment;
  if (recording::SizeRow* const recorded = recorded_rows.add(row)) recorded->counts = counts;
  if (recording::Header* const header = recording_here()) {
    header->sizes.store(row + 1, std::memory_order_release);
  }
  return row;
}

double bytes_for_peak(const SizeCounts& counts) {
  return counts.bytes <= kLargestAtPeak ? static_cast<double>(counts.bytes) : 0;
}

void record_row(uint32_t number) {
  recording::SizeRow* const recorded = recorded_rows.find(number);
  if (recorded == nullptr) return;
  const Row& row = rows[number];
  record_held(*recorded, recorded->counts.live_at_peak, row.peaks);
  recorded->counts.calls = row.counts.calls;
  recorded->counts.threads = row.counts.threads;
  recorded->live = row.live;
  recording_here()->size_peak.store(peak.number(), std::memory_order_release);
}

// By a thread that has not used the row before, or has.
void add_object(uint32_t number, bool by_another_thread) {
  Row& row = rows[number];
  ++row.counts.calls;
  row.counts.threads += by_another_thread ? 1 : 0;
  peak.add(row.peaks, row.live, uint64_t{1}, bytes_for_peak(row.counts));
  record_row(number);
}

void remove_object(uint32_t number) {
  Row& row = rows[number];
  peak.remove(row.peaks, row.live, uint64_t{1}, bytes_for_peak(row.counts));
  record_row(number);
}

// The row of each live object: (address >> 3) << kRowBits | row.
uintptr_t address_in(uint64_t word) { return word >> kRowBits << 3; }
static_assert(machine::kAddressBits - 3 + kRowBits <= 64);
constinit WordTable<uint64_t, address_in> rows_of;
uint32_t row_in(uint64_t word) { return static_cast<uint32_t>(word & kMostRows); }

constinit std::atomic<bool> active = false;
uint64_t started_us = 0;  // since the epoch: the load, or the fork
bool ended = false;
SizeTotals totals{};
uint64_t open_then = 0;  // bytes of open slabs at the latest look

void record_totals() {
  if (recording::Header* const header = recording_here()) header->size_totals = totals;
}

// The rows that this thread has used. nullptr: none yet, or memory was refused.
using Rows = std::bitset<size_t{1} << kRowBits>;
constinit thread_local Rows* rows_used = nullptr;
constinit thread_local bool thread_ended = false;

// False: no memory. A thread that has made its last call to us but still allocates is not counted
// any more.
bool count_thread() {
  if (rows_used != nullptr || thread_ended) return true;
  rows_used = static_cast<Rows*>(map_lazily(sizeof(Rows)));
  if (rows_used == nullptr) return false;
  ++totals.threads;
  record_totals();
  return true;
}

void look_at_memory() {
  if (!heap.can_lock()) return;  // in a signal handler, perhaps
  const uint64_t now = heap.resident_bytes(false);
  const SizesLock lock;
  totals.memory_bytes = std::max(totals.memory_bytes, now);
  record_totals();
}

// False: no memory.
bool record(const void* p, size_t bytes, size_t alignment) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  const uint32_t row = find_row(bytes, alignment);
  uint64_t former = 0;  // nobody told its release
  if (row == kNoRow || address >> machine::kAddressBits != 0 ||
      !rows_of.put(address >> 3 << kRowBits | row, former)) {
    return false;
  }
  if (former != 0) remove_object(row_in(former));
  const bool is_first_use = rows_used != nullptr && !(*rows_used)[row];
  if (is_first_use) (*rows_used)[row] = true;
  add_object(row, is_first_use);
  return true;
}

void tell_end() { message("PKTMALLOC_SIZES: no memory for the record of sizes, which ends here"); }

void forget_rows_used() {
  if (rows_used != nullptr) memory::release(rows_used, sizeof(Rows));
  rows_used = nullptr;
}

void thread_exit() {
  thread_ended = true;
  forget_rows_used();
}

EVERY_PROCESS void forked() {
  if (!recording_sizes()) return;
  for (uint32_t i = 1; i <= row_count; ++i) rows[i].counts.calls = rows[i].counts.threads = 0;
  peak.begin_anew();
  started_us = clock_ns(CLOCK_REALTIME) / 1000;
  totals = {};
  open_then = 0;
  forget_rows_used();
}

unsigned list_classes(uint64_t (&bytes)[kMaxClasses]) {
  unsigned count = 0;
  for (const ClassId id : heap.classes().ids()) bytes[count++] = heap.classes()[id].object_bytes;
  return count;
}

EVERY_PROCESS void load() {
  if (options().sizes_path == nullptr || PKTMALLOC_CHECKED) return;
  const KeepErrno keep_errno;
  started_us = clock_ns(CLOCK_REALTIME) / 1000;
  rows = static_cast<Row*>(map_lazily(sizeof(Row) << kRowBits));
  slots = static_cast<uint32_t*>(map_lazily(sizeof(uint32_t) << kSlotBits));
  if (rows == nullptr || slots == nullptr) return tell_end();
  if (recording::Header* const header = recording_here()) {
    header->sizes_started_us = started_us;
    list_classes(header->size_classes);
  }
  record_report(recording::Content::kSizes, options().sizes_path, 1);
  active.store(true, std::memory_order_release);  // partner: recording_sizes()
  begin_observation();
}

SizeCounts counts_of(uint32_t row) {
  const SizesLock lock;
  SizeCounts counts = rows[row].counts;
  counts.live_at_peak = peak.at_pinned(rows[row].peaks, rows[row].live);
  return counts;
}

}  // namespace

// report.cpp takes the last look.
constinit const Part size_recording_part{
    .load = load, .thread_exit = thread_exit, .mutexes = {&mutex}, .forked = forked};

EVERY_PROCESS bool recording_sizes() { return active.load(std::memory_order_acquire); }

void size_allocated(void* p, size_t bytes, size_t alignment) {
  if (!recording_sizes()) return;
  const KeepErrno keep_errno;
  const uint64_t open = heap.open_bytes() + heap.outside_bytes();  // samples open no slabs
  bool ends = false, looks = false;
  {
    const SizesLock lock;
    if (ended) {
      ++totals.missing;
      return record_totals();
    }
    ends = !count_thread() || !record(p, bytes, alignment);
    ended = ends;
    // A look walks over all pages; so only when as many slabs were opened as make a difference.
    // What was opened before is in use by now.
    open_then = std::min(open_then, open);
    looks = !ends && open > open_then + open_then / 128;
    if (looks) open_then = open;
  }
  if (ends) tell_end();
  if (looks) look_at_memory();
}

void size_released(void* p) {
  if (!recording_sizes()) return;
  const SizesLock lock;
  if (ended) return;
  const uint64_t word = rows_of.take(reinterpret_cast<uintptr_t>(p) & ~uintptr_t{7});
  if (word != 0) remove_object(row_in(word));
}

void size_asked() {
  if (this_thread.forking || !recording_sizes()) return;
  const SizesLock lock;
  ++totals.usable_sizes;
  record_totals();
}

void write_sizes(Writer& out) {
  look_at_memory();
  uint64_t classes[kMaxClasses];
  const unsigned count = list_classes(classes);
  SizesOrigin origin{this_process(), started_us, 0, {}, {classes, count}};
  uint32_t count_then;
  {
    const SizesLock lock;
    origin.peak_bytes = static_cast<uint64_t>(peak.pin());
    origin.totals = totals;
    count_then = row_count;
  }
  write_sizes_head(out, origin);
  bool is_first = true;
  for (uint32_t i = 1; i <= count_then; ++i) {
    const SizeCounts counts = counts_of(i);
    // Else the parent's, before a fork.
    if (counts.calls == 0 && counts.live_at_peak == 0) continue;
    write_size(out, counts, std::exchange(is_first, false));
  }
  out.print(kSizesEnd);
}

}  // namespace pktmalloc
