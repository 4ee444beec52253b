// SPDX-License-Identifier: MIT
// PeakTypes: what a process held by type when it held most, as far as it was looked at while it
// grew: each time that it holds a tenth more than at the look before, but for a tenth of the time
// at most. It runs on meanwhile.
#pragma once

#include <chrono>
#include <string>

#include "tools/command/heap/census.h"
#include "tools/command/reading.h"

namespace pktmalloc {

class PeakTypes {
 public:
  // Of a process that was read a moment ago. What cannot be looked at is no matter.
  void see(const Reading& reading);

  const std::string& program() const { return program_; }  // "": nothing was looked at
  const Census& census() const { return census_; }
  double time() const { return time_; }  // of the look, in seconds since the epoch

 private:
  using Clock = std::chrono::steady_clock;

  std::string program_;
  uint64_t bytes_ = 0;
  double time_ = 0;
  Clock::time_point next_;
  Census census_;
};

}  // namespace pktmalloc
