// SPDX-License-Identifier: MIT
// Unit: the service, scope or container that a process runs in, from its control group.
#pragma once

#include <string>

#include "tools/command/system/process.h"

namespace pktmalloc {

// "redis.service", "session-3.scope", "docker-4f1c.scope"; "" in the root group, or if the process
// has ended.
std::string unit_of(const Process& process);
// The same of the text of /proc/PID/cgroup, of either version.
std::string unit_in(const std::string& groups);

}  // namespace pktmalloc
