// SPDX-License-Identifier: MIT
#include "preload/process/passed_requests.h"

#include <algorithm>

#include "preload/process/thread.h"

namespace pktmalloc {

constinit PassCounts passed_counts{};

void count_pass(PassReason reason, size_t bytes) {
  const auto row = static_cast<unsigned>(reason);
  const auto band = static_cast<unsigned>(
      std::lower_bound(kSizeBandEnd, kSizeBandEnd + kSizeBands - 1, bytes) - kSizeBandEnd);
  if (this_thread.cache != nullptr) {
    this_thread.cache->tally(pass_tally(row, band));
  } else {
    passed_counts[row][band].fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace pktmalloc
