// SPDX-License-Identifier: MIT
// Confined: what a process has made is not trusted. It is read by a process of our own, which has
// no more rights than the other one, little memory and little time.
#pragma once

#include <sys/types.h>

#include <string>

#include "tools/command/system/process.h"

namespace pktmalloc {

// What `pktmalloc exporter OPTION PID` prints, which is such a process; run beside other threads.
struct ConfinedAnswer {
  bool done = false;
  std::string text;  // or why not
};
ConfinedAnswer ask_confined(const char* option, pid_t pid);

// There: as root takes the rights of a process, for good: its user, group and capabilities. Throws
// Failure.
void take_rights_of(const Process::User& user);

}  // namespace pktmalloc
