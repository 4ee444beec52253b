// SPDX-License-Identifier: MIT
// Standard error: what the command itself has to say, a line each.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "tools/command/text/printable.h"

namespace pktmalloc {

// One line, whatever a file is called. Not by fmt::print, which throws when stderr is closed.
inline void tell(const std::string& line) {
  fputs(fmt::format("pktmalloc: {}\n", printable(line)).c_str(), stderr);
}

}  // namespace pktmalloc
