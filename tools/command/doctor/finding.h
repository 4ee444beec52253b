// SPDX-License-Identifier: MIT
// Finding: one thing that `doctor` looked at, as a sentence, with what to do if anything.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// ok: as it should be, or a fact that only shapes the figures. warning: it takes effect, but less
// than one would think. problem: it does not, or the program breaks.
enum class Level { kOk, kWarning, kProblem };

struct Finding {
  Level level;
  std::string topic;   // one word
  std::string says;    // a sentence
  std::string advice;  // what to do; empty: nothing
};

using Findings = std::vector<Finding>;

inline void append(Findings& all, Findings more) {
  all.insert(all.end(), more.begin(), more.end());
}

// "ok", "warning" or "problem".
inline const char* name_of(Level level) {
  return level == Level::kOk ? "ok" : level == Level::kWarning ? "warning" : "problem";
}

}  // namespace pktmalloc
