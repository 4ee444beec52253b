// SPDX-License-Identifier: MIT
#include "tools/command/heap/peak_types.h"

#include <utility>

#include "tools/command/failure.h"
#include "tools/command/heap/inventory.h"

namespace pktmalloc {

void PeakTypes::see(const Reading& reading) {
  constexpr int kShareOfTime = 10;  // one part in so many
  if (!program_.empty() && reading.program != program_) *this = PeakTypes();
  const uint64_t bytes = reading.snapshot.process.allocated_bytes;
  const auto begin = Clock::now();
  if (bytes <= bytes_ + bytes_ / 10 || begin < next_) return;
  try {
    const Subject subject(std::to_string(reading.pid));
    Inventory seen(subject, 0, false);
    program_ = reading.program;
    bytes_ = bytes;
    time_ = reading.time;
    census_ = std::move(seen.census);
  } catch (const Failure&) {
  }
  const auto end = Clock::now();
  next_ = end + (end - begin) * (kShareOfTime - 1);
}

}  // namespace pktmalloc
