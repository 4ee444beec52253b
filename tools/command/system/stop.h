// SPDX-License-Identifier: MIT
// StandingProcess: all threads of a process stand still, by ptrace(2), until it is let go. No
// signal is lost, and a process that was stopped already stays so.
//
// A child of this command does that, in a session of its own: if the command is killed, the child
// sees to it that the process goes on as before.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/failure.h"

namespace pktmalloc {

// The process runs, but does not stand still: others trace it, or no thread of it can stop now.
class CannotStop : public Failure {
  using Failure::Failure;
};

// All words of a thread's registers, the general ones first (call_registers.h: where its stack
// ends).
using Registers = std::vector<uint64_t>;

class StandingProcess {
 public:
  // Threads that do not stand still within a few milliseconds are not waited for. Throws Failure
  // when the process has ended, and CannotStop.
  explicit StandingProcess(pid_t pid);
  ~StandingProcess();
  StandingProcess(const StandingProcess&) = delete;
  StandingProcess& operator=(const StandingProcess&) = delete;

  // Those that stand, and how many others there are, which the kernel keeps busy.
  const std::vector<pid_t>& threads() const { return threads_; }
  unsigned not_stopped() const { return not_stopped_; }
  std::vector<Registers> registers();
  // A process with a copy of all its memory, which never runs; it is there as long as this. 0: none
  // can be had.
  pid_t copy_memory();
  // For so many milliseconds some of it stood still.
  double let_go();

 private:
  using Words = std::vector<uint64_t>;
  void ask(char order) const;
  Words answer() const;
  void end();

  pid_t pid_;
  pid_t child_ = -1;
  int channel_ = -1;
  std::vector<pid_t> threads_;
  unsigned not_stopped_ = 0;
};

}  // namespace pktmalloc
