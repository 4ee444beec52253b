// SPDX-License-Identifier: MIT
// The loader's list of what it has loaded into a process: the program, what is preloaded, what they
// are linked with, what was opened since. In that order it looks names up.
#pragma once

#include <string>
#include <vector>

#include "tools/command/system/process.h"

namespace pktmalloc {

// Paths as that process sees them; the program's own is its /proc/PID/exe. Empty when there is no
// loader. Throws Failure when the memory of the process may not be read.
std::vector<std::string> loaded_objects(const Process& process);

}  // namespace pktmalloc
