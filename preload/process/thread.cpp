// SPDX-License-Identifier: MIT
#include "preload/process/thread.h"

#include <algorithm>

#include "sizeclass/base/clock.h"

namespace pktmalloc {
namespace {

void divert(void* p) {
  Thread& thread = *static_cast<Thread*>(p);
  // Each is one word, which its thread reads once a call.
  std::atomic_ref(thread.allocates_from).store(kNoCache, std::memory_order_relaxed);
  std::atomic_ref(thread.releases_to).store(kNoCache, std::memory_order_relaxed);
}

}  // namespace

void begin_observation() {
  observers.fetch_add(1, std::memory_order_release);
  publish(this_thread.cache);
}

void end_observation() { observers.fetch_sub(1, std::memory_order_relaxed); }

void count_pass(PassReason reason, size_t bytes) {
  const auto row = static_cast<unsigned>(reason);
  const auto band = static_cast<unsigned>(
      std::lower_bound(kSizeBandEnd, kSizeBandEnd + kSizeBands - 1, bytes) - kSizeBandEnd);
  heap.tally(this_thread.cache, pass_tally(row, band));
}

// Twice, because a slow call that was under way the first time sets its thread's pointers again.
void divert_next_calls() {
  heap.each_thread(divert);
  sleep_us(1000);
  heap.each_thread(divert);
}

}  // namespace pktmalloc
