// SPDX-License-Identifier: MIT
// What can be told of a running process: is the library in it, and does it serve?
#pragma once

#include "tools/command/doctor/finding.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

// As it was at start; a program may have written over it since.
Environment environment_of(const Process& process);

// Throws Failure as Process does.
Findings examine_running(const Process& process, const Environment& environment);

}  // namespace pktmalloc
