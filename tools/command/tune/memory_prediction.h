// SPDX-License-Identifier: MIT
// MemoryPrediction: what the classes would have in memory at most with a table, from what they had
// with the one that was in use while the recording was made.
//
// Which pages the live objects of the peak need is known for any table. All else that the classes
// had in memory, free objects in magazines, depots and slabs, is taken to stay as it was. So a
// prediction is good only where that is little, and where another run would ask for the same again;
// else there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/tune/size_recording.h"
#include "tools/command/tune/table_fit.h"

namespace pktmalloc {

class MemoryPrediction {
 public:
  MemoryPrediction() = default;
  explicit MemoryPrediction(const SizeRecording& recording);

  // Why there is none for other tables, as a clause; "": there is one.
  const std::string& unknown() const { return unknown_; }
  // Bytes.
  std::optional<uint64_t> with(const TableFit& fit) const;
  uint64_t recorded() const { return recorded_; }  // 0: not told

 private:
  std::string why_unknown(const SizeRecording& recording) const;

  uint64_t recorded_ = 0;
  uint64_t pages_ = 0;             // of live objects, of what was recorded
  std::vector<uint64_t> classes_;  // in use then
  std::string unknown_;
};

}  // namespace pktmalloc
