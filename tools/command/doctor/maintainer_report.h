// SPDX-License-Identifier: MIT
// What a maintainer asks of whoever reports a fault, in lines to paste: versions, machine, limits,
// options. Nothing private: no name of a file, host, user or program, of the environment only
// PKTMALLOC_ options, and of these no paths.
#pragma once

#include <string>

#include "tools/command/system/environment.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

// Of that process; or, where it is this one, of what it would start. Throws Failure as Process
// does.
std::string maintainer_report(const Process& process, const Environment& environment);

}  // namespace pktmalloc
