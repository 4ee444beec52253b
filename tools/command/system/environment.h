// SPDX-License-Identifier: MIT
// Environment: the variables of a process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pktmalloc {

using Environment = std::map<std::string, std::string>;

Environment own_environment();
// Of a text such as /proc/PID/environ: "NAME=value", each with a zero behind it.
Environment parse_environment(const std::string& text);

// "" when there is none.
std::string value_of(const Environment& environment, const std::string& name);

// The libraries of a value of LD_PRELOAD, in order.
std::vector<std::string> preloads(const std::string& value);

}  // namespace pktmalloc
