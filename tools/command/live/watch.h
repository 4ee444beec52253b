// SPDX-License-Identifier: MIT
// Watch: a process over time, by its latest two samples. A process that ends, or executes another
// program, is no error: what was read last stays, and `message` says what happened.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/command/live/live.h"

namespace pktmalloc {

struct Sample {
  Reading reading;
  uint64_t rss_bytes = 0;
  LibraryKind library = LibraryKind::kNormal;
  std::chrono::steady_clock::time_point at;
};

class Watch {
 public:
  // Throws Failure as LiveProcess does.
  explicit Watch(pid_t pid);

  void update();

  const Sample& now() const { return now_; }
  // The one before, of the same program; nullptr: there is none, so no rates are known.
  const Sample* before() const { return before_ ? &*before_ : nullptr; }
  const std::string& message() const { return message_; }
  bool ended() const { return process_->ended(); }
  int end_descriptor() const { return process_->end_descriptor(); }

 private:
  Sample take() const;

  std::unique_ptr<LiveProcess> process_;
  Sample now_;
  std::optional<Sample> before_;
  std::string message_;
};

}  // namespace pktmalloc
