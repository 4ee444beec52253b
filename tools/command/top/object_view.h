// SPDX-License-Identifier: MIT
// ObjectView: the objects of a process by type, over time: those that grew most since the first
// look come first.
//
// A look stops the process, where copying what tells free objects took less than 5 ms just before,
// and may take a processor for a second. So a tenth of the time is spent on looks, however often
// they are asked for. What the process becomes by exec is looked at anew.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tools/command/heap/inventory.h"
#include "tools/command/live/line.h"

namespace pktmalloc {

class ObjectView {
 public:
  // Throws Failure when the process cannot be looked at.
  explicit ObjectView(pid_t pid);

  // `at_once`: also when it is too soon. What goes wrong is the message.
  void update(bool at_once);

  std::vector<Line> head() const;
  std::vector<Line> rows() const;

 private:
  using Clock = std::chrono::steady_clock;

  Inventory look(const Subject& subject);

  void begin(pid_t pid);

  std::unique_ptr<Subject> subject_;
  Clock::time_point next_, begin_, at_;
  Census first_, now_;  // now with what it has grown
  Look look_;
  std::string message_;
};

}  // namespace pktmalloc
