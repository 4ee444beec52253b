// SPDX-License-Identifier: MIT
#include "preload/reports/moment.h"

#include <unistd.h>

#include <atomic>

#include "preload/base/options.h"
#include "preload/contract/pktmalloc.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kIntervalMs = 100;
// To count the resident pages of more takes too long for a moment.
constexpr uint64_t kQuicklyCounted = uint64_t{1} << 30;

constinit std::atomic<bool> noting = false;
constinit std::atomic<uint64_t> trips = 0;  // about; threads may lose some
constinit std::atomic<uint64_t> next_ms = 0;

bool wanted(const recording::Header& header) {
  return header.reports[static_cast<unsigned>(recording::Content::kStatistics)].wanted.load(
             std::memory_order_relaxed) == recording::Wanted::kYes;
}

}  // namespace

void take_snapshot(Snapshot& out) {
  out = Snapshot{};
  if (this_thread.forking) return;
  heap.statistics(out.heap);
  out.process.forks = fork_count().load(std::memory_order_relaxed);
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.passed[reason][band] = passed_counts[reason][band].load(std::memory_order_relaxed);
    }
  }
  sum_up(out);
}

Origin this_process() {
  return {program_name(), PKTMALLOC_VERSION, getpid(), clock_ns(CLOCK_REALTIME) / 1'000'000, 0};
}

void measure_resident(Snapshot& out) {
  if (!this_thread.forking) out.process.resident_bytes = heap.resident_bytes();
}

void note_moment() {
  recording::Header* const header = recording_here();
  if (header == nullptr || !wanted(*header) || noting.exchange(true, std::memory_order_acquire)) {
    return;
  }
  // What a handler interrupts may hold a lock: then the moment before must do.
  if (heap.can_lock()) {
    const KeepErrno keep;
    recording::Moment& moment = header->inside.next();
    moment.time_ms = this_process().time_ms;
    take_snapshot(moment.snapshot);
    if (moment.snapshot.process.committed_bytes <= kQuicklyCounted) {
      measure_resident(moment.snapshot);
    }
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
