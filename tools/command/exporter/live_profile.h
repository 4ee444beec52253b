// SPDX-License-Identifier: MIT
// LiveProfile: the heap profile of a running process as pprof reads it. The process writes it by
// order (control_socket.h), into a folder that is gone afterwards.
#pragma once

#include <sys/types.h>

#include <string>

namespace pktmalloc {

// Throws Failure: the process is gone, protected or another user's, has no control, or no profile.
std::string live_profile(pid_t pid);

}  // namespace pktmalloc
