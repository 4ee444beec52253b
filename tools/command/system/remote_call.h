// SPDX-License-Identifier: MIT
// RemoteCall: has a thread that stands still make a system call, as if the program had made it
// between two of its instructions. Its registers and the call that it was in are as before
// afterwards. For the thread of this command that traces it (stop.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

// Waits until the thread, which we trace, stands; its status as of waitpid(2). -1: it has ended.
int wait_for_stop(pid_t thread);

class RemoteCall {
 public:
  // `thread` is one of the process that has not ended. Nothing: the process must not be made to
  // call, as calls are filtered, or there is no instruction that does.
  static std::optional<RemoteCall> prepare(pid_t pid, pid_t thread);

  // Is the thread where a call does no harm? Not in a sequence of instructions that the kernel is
  // to begin anew whenever it was interrupted (rseq(2)).
  bool is_possible(pid_t thread) const;

  // A child with a copy of all memory, which never runs: it is traced, and ends with this command
  // at the latest. It sends no signal when it ends. 0: the system refuses.
  pid_t copy_memory(pid_t thread);
  // Once the child has ended: else the process would keep it as a zombie.
  void forget_child(pid_t thread, pid_t child);

  // Signals that came for the thread meanwhile, to be given to it when it goes on.
  std::vector<int> take_signals();

 private:
  RemoteCall(const ProcessMemory& memory, uint64_t instruction)
      : memory_(memory), instruction_(instruction) {}
  void call(pid_t thread, long number, uint64_t a, uint64_t b, uint64_t c);
  int next_stop(pid_t thread);

  ProcessMemory memory_;
  uint64_t instruction_;
  pid_t child_ = 0;
  std::vector<int> signals_;
};

}  // namespace pktmalloc
