// SPDX-License-Identifier: MIT
// Watch: a process over time, by its latest two samples and what matters of those before. A process
// that ends, or executes another program, is no error: what was read last stays, and `message` says
// what happened.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/live/live.h"

namespace pktmalloc {

struct Sample {
  Reading reading;
  uint64_t rss_bytes = 0;
  LibraryKind library = LibraryKind::kNormal;
  std::chrono::steady_clock::time_point at;
};

// Of a sample that is over.
struct Moment {
  std::chrono::steady_clock::time_point at;
  double committed_bytes = 0;
  double allocs_rate = 0;  // since the one before
  std::array<double, kMaxClasses> class_committed_bytes{};
};

class Watch {
 public:
  // Throws Failure as LiveProcess does.
  explicit Watch(pid_t pid);

  void update();

  const Sample& now() const { return now_; }
  // The one before, of the same program; nullptr: there is none, so no rates are known.
  const Sample* before() const { return before_ ? &*before_ : nullptr; }
  // Of the same program, up to now: the last kHistory.
  const std::vector<Moment>& history() const { return history_; }
  const std::string& message() const { return message_; }
  pid_t pid() const { return process_->pid(); }
  bool ended() const { return process_->ended(); }
  int end_descriptor() const { return process_->end_descriptor(); }

 private:
  static constexpr size_t kHistory = 500;

  Sample take() const;
  void remember();

  std::unique_ptr<LiveProcess> process_;
  Sample now_;
  std::optional<Sample> before_;
  std::vector<Moment> history_;
  std::string message_;
};

// A second, from the sample before; counters that fell were in the middle of a change.
double rate(uint64_t now, uint64_t before, const Watch& watch);

}  // namespace pktmalloc
