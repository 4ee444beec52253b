// SPDX-License-Identifier: MIT
// What keeps the library from taking effect in a program that is started from here: the first
// problem that `doctor` would tell.
#pragma once

#include <optional>
#include <string>

#include "tools/command/doctor/finding.h"
#include "tools/command/system/library.h"

namespace pktmalloc {

// `file`: the program that would be loaded. Throws Failure when it cannot be read.
std::optional<Finding> find_obstacle(const std::string& file, const Library& library);

}  // namespace pktmalloc
