// SPDX-License-Identifier: MIT
// LiveProfile: the heap profile of a running process as pprof reads it. The process writes it by
// order (control_socket.h), into a folder that is gone afterwards.
//
// What that process wrote is not trusted. It is read by a process of our own, which has no more
// rights than the other one, little memory and little time.
#pragma once

#include <sys/types.h>

#include <string>

namespace pktmalloc {

// Prints it to stdout. As root takes the rights of the process's user, and its view of the files,
// for good. Throws Failure: the process is gone, protected or another user's, has no control, or no
// profile.
void print_live_profile(pid_t pid);

// The same from `pktmalloc exporter --profile-of PID`, run beside the other threads.
struct ProfileAnswer {
  bool done = false;
  std::string text;  // or why not
};
ProfileAnswer ask_for_profile(pid_t pid);

}  // namespace pktmalloc
