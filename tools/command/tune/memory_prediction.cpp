// SPDX-License-Identifier: MIT
#include "tools/command/tune/memory_prediction.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

// docs/tune.md has the programs that these come from.
constexpr uint64_t kLeast = 1 << 20;      // below, a slab more or less is too much
constexpr uint64_t kMostBeyond = 8;       // percent of memory that may be other than live objects
constexpr uint64_t kMostUsableSizes = 1;  // percent of calls

bool exceeds(uint64_t part, uint64_t percent, uint64_t whole) {
  return static_cast<double>(part) * 100 > static_cast<double>(percent * whole);
}

std::string bytes(uint64_t n) { return bytes_text(static_cast<double>(n)); }

}  // namespace

MemoryPrediction::MemoryPrediction(const SizeRecording& recording)
    : recorded_(recording.memory), classes_(recording.classes) {
  ClassTable table;
  const std::vector<size_t> sizes(classes_.begin(), classes_.end());
  if (!sizes.empty()) {
    table.use_list(sizes.data(), static_cast<unsigned>(sizes.size()));
    pages_ = fit(table, recording).page_bytes;
  }
  unknown_ = why_unknown(recording);
}

std::string MemoryPrediction::why_unknown(const SizeRecording& recording) const {
  if (recorded_ == 0 || classes_.empty()) {
    return "the recording does not tell what classes had in memory, or with which table";
  }
  if (recording.missing > 0) return "the recording is not whole";
  if (recording.threads > recording.files) {
    return "with several threads it differs from run to run";
  }
  if (exceeds(recording.usable_sizes, kMostUsableSizes, recording.calls())) {
    return "the program asks how much of an object it may use, and uses that";
  }
  if (recorded_ < kLeast) return fmt::format("{} are too few to tell", bytes(recorded_));
  const uint64_t apart = std::max(recorded_, pages_) - std::min(recorded_, pages_);
  if (!exceeds(apart, kMostBeyond, recorded_)) return "";
  if (pages_ > recorded_) {
    return fmt::format("{} of live objects were never written to", bytes(apart));
  }
  return fmt::format(
      "{} of the {} are free objects in magazines, depots and slabs; these will differ",
      bytes(apart), bytes(recorded_));
}

std::optional<uint64_t> MemoryPrediction::with(const TableFit& fit) const {
  const bool is_recorded =
      std::equal(fit.classes.begin(), fit.classes.end(), classes_.begin(), classes_.end(),
                 [](const ClassFit& c, uint64_t object_bytes) { return c.bytes == object_bytes; });
  if (is_recorded && recorded_ > 0) return recorded_;
  if (!unknown_.empty()) return std::nullopt;
  return recorded_ + fit.page_bytes - pages_;
}

}  // namespace pktmalloc
