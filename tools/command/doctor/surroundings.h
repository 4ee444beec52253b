// SPDX-License-Identifier: MIT
// What the system does to a process's memory: limits, overcommit, huge pages, filters, containers.
#pragma once

#include "tools/command/doctor/finding.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

// As it is for that process, or for what this one would start. `locks_memory`: the program calls
// mlockall(2).
Findings examine_surroundings(const Process& process, const Environment& environment,
                              bool locks_memory);

}  // namespace pktmalloc
