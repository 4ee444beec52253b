// SPDX-License-Identifier: MIT
// LiveProfile: the heap profile of a running process as pprof reads it. The process writes it by
// order (control_socket.h), into a folder that is gone afterwards.
#pragma once

#include <sys/types.h>

namespace pktmalloc {

// Prints it to stdout. As root takes the rights of the process's user, and its view of the files,
// for good. Throws Failure: the process is gone, protected or another user's, has no control, or no
// profile.
void print_live_profile(pid_t pid);

}  // namespace pktmalloc
