// SPDX-License-Identifier: MIT
// The statistics of this process, for inside and, by the window (formats/live_window.h) that opens
// at load, for outside.

#include <atomic>
#include <cstring>

#include "preload/base/export.h"
#include "preload/base/options.h"
#include "preload/base/this_library.h"
#include "preload/contract/pktmalloc.h"
#include "preload/formats/live_window.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/profile.h"
#include "preload/reports/report.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"

// Aligned so that it lies before the heap, with what else is written at start, in one page.
alignas(4096) PKTMALLOC_EXPORT constinit pktmalloc::Window pktmalloc_window{};

namespace pktmalloc {
namespace {

constexpr uint64_t kIntervalMs = 100;
// To count the resident pages of more takes too long for a moment.
constexpr uint64_t kQuicklyCounted = uint64_t{1} << 30;

constinit std::atomic<bool> noting = false;
constinit std::atomic<uint64_t> trips = 0;  // about; threads may lose some
constinit std::atomic<uint64_t> next_ms = 0;

EVERY_PROCESS void load() {
  Window& w = pktmalloc_window;
  w.schema = kWindowSchema;
  w.bytes = sizeof w;
  strncpy(w.version, PKTMALLOC_VERSION, sizeof w.version - 1);
  strncpy(w.program, program_name(), sizeof w.program - 1);
  w.library = kThisLibrary;
  w.pid = static_cast<uint32_t>(process_id());
  w.passed = reinterpret_cast<uint64_t>(heap.tallies());
  w.forks = reinterpret_cast<uint64_t>(&fork_count());
  w.profile = profile_window();
  if (heap.started()) w.heap = heap.window();
  // Partner: none in the process; a reader that copies from the front and sees the magic sees the
  // rest too.
  std::atomic_ref(w.magic).store(kWindowMagic, std::memory_order_release);
}

}  // namespace

constinit const Part window_part{.load = load};

void take_snapshot(Snapshot& out) {
  out = Snapshot{};
  if (this_thread.forking) return;
  heap.statistics(out.heap);
  out.process.forks = fork_count().load(std::memory_order_relaxed);
  sum_up(out);
}

void measure_resident(Snapshot& out) {
  if (!this_thread.forking) out.process.resident_bytes = heap.resident_bytes();
}

void note_moment() {
  recording::Header* const header = recording_here();
  if (header == nullptr) return;
  const auto& report = header->report(recording::Content::kStatistics);
  if (report.wanted.load(std::memory_order_relaxed) != recording::Wanted::kYes) return;
  if (noting.exchange(true, std::memory_order_acquire)) return;
  // What a handler interrupts may hold a lock: then the moment before must do.
  if (heap.can_lock()) {
    const KeepErrno keep;
    recording::Moment& moment = header->inside.next();
    moment.time_ms = this_process().time_ms;
    take_snapshot(moment.snapshot);
    if (moment.snapshot.process.committed_bytes <= kQuicklyCounted)
      measure_resident(moment.snapshot);
    header->inside.advance();
  }
  noting.store(false, std::memory_order_release);
}

// Often at first, for programs that end soon.
void note_moment_if_due() {
  if (this_thread.forking) return;
  const uint64_t made = trips.load(std::memory_order_relaxed) + 1;
  trips.store(made, std::memory_order_relaxed);
  const uint64_t now = clock_ms();
  if (!is_power_of_two(made) && now < next_ms.load(std::memory_order_relaxed)) return;
  next_ms.store(now + kIntervalMs, std::memory_order_relaxed);
  note_moment();
}

}  // namespace pktmalloc
