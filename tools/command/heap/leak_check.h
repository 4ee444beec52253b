// SPDX-License-Identifier: MIT
// LeakCheck: looks for leaks in a program that `pktmalloc run` started, and in those that it
// starts, when each exits: the library asks for it before any exit handler runs
// (PKTMALLOC_LEAK_CHECK) and waits. What is found is told on stderr.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <set>
#include <thread>

#include "tools/command/heap/suppressions.h"

namespace pktmalloc {

class LeakCheck {
 public:
  // A process that loses something is to end with the status. Says in the environment who is to be
  // asked: this process. Throws Failure.
  LeakCheck(int status, Suppressions suppressions);
  ~LeakCheck();
  LeakCheck(const LeakCheck&) = delete;
  LeakCheck& operator=(const LeakCheck&) = delete;

  // From now on, in a thread of its own.
  void begin();
  // Of the program that this process started, whose wait status that is: says it if it never asked.
  void end(pid_t child, int status);

 private:
  void serve();
  bool admit(int listener);
  void attend(int client);
  unsigned char answer_to(pid_t pid);

  const int status_;
  const Suppressions suppressions_;
  // At our name, and at what a program takes for it once a chroot has hidden /proc from it. -1:
  // closed, since nobody can be answered.
  std::atomic<int> listeners_[2];
  std::thread thread_;
  std::set<pid_t> asked_;
};

}  // namespace pktmalloc
