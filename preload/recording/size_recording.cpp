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
#include "preload/recording/recording.h"
#include "preload/recording/size_histogram.h"
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

constinit SizeHistogram histogram;

// The row of each live object: (address >> 3) << kRowBits | row.
uintptr_t address_in(uint64_t word) { return word >> SizeHistogram::kRowBits << 3; }
static_assert(machine::kAddressBits - 3 + SizeHistogram::kRowBits <= 64);
constinit WordTable<uint64_t, address_in> rows_of;
uint32_t row_in(uint64_t word) { return static_cast<uint32_t>(word & SizeHistogram::kMostRows); }

constinit std::atomic<bool> active = false;
uint64_t started_us = 0;  // since the epoch: the load, or the fork
bool ended = false;
SizeTotals totals{};
uint64_t open_then = 0;  // bytes of open slabs at the latest look

void record_totals() {
  if (recording::Header* const header = recording_here()) header->size_totals = totals;
}

// The rows that this thread has used. nullptr: none yet, or memory was refused.
using Rows = std::bitset<size_t{1} << SizeHistogram::kRowBits>;
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

// Has this thread not used the row before?
bool uses_first(uint32_t row) {
  if (rows_used == nullptr || (*rows_used)[row]) return false;
  (*rows_used)[row] = true;
  return true;
}

void look_at_memory() {
  if (!heap.can_lock()) return;  // in a signal handler, perhaps
  const uint64_t now = heap.resident_bytes();
  const SizesLock lock;
  totals.memory_bytes = std::max(totals.memory_bytes, now);
  record_totals();
}

// A look walks over all pages; so only when as many slabs were opened as make a difference. What
// was opened before is in use by now.
bool should_look(uint64_t open) {
  open_then = std::min(open_then, open);
  if (open <= open_then + open_then / 128) return false;
  open_then = open;
  return true;
}

// False: no memory.
bool record(const void* p, size_t bytes, size_t alignment) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  const uint32_t row = histogram.find(bytes, alignment);
  uint64_t former = 0;  // nobody told its release
  if (row == SizeHistogram::kNoRow || address >> machine::kAddressBits != 0 ||
      !rows_of.put(address >> 3 << SizeHistogram::kRowBits | row, former)) {
    return false;
  }
  if (former != 0) histogram.remove_object(row_in(former));
  histogram.add_object(row, uses_first(row));
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

uint64_t since_epoch_us() { return clock_ns(CLOCK_REALTIME) / 1000; }

void forked() {
  if (!recording_sizes()) return;
  histogram.begin_anew();
  started_us = since_epoch_us();
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
  started_us = since_epoch_us();
  if (!histogram.start()) return tell_end();
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
  return histogram.at_pinned_peak(row);
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
    looks = !ends && should_look(open);
  }
  if (ends) tell_end();
  if (looks) look_at_memory();
}

void size_released(void* p) {
  if (!recording_sizes()) return;
  const SizesLock lock;
  if (ended) return;
  const uint64_t word = rows_of.take(reinterpret_cast<uintptr_t>(p) & ~uintptr_t{7});
  if (word != 0) histogram.remove_object(row_in(word));
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
  uint32_t rows;
  {
    const SizesLock lock;
    origin.peak_bytes = histogram.pin_peak();
    origin.totals = totals;
    rows = histogram.rows();
  }
  write_sizes_head(out, origin);
  bool is_first = true;
  for (uint32_t i = 1; i <= rows; ++i) {
    const SizeCounts counts = counts_of(i);
    // Else the parent's, before a fork.
    if (counts.calls == 0 && counts.live_at_peak == 0) continue;
    write_size(out, counts, std::exchange(is_first, false));
  }
  out.print(kSizesEnd);
}

}  // namespace pktmalloc
