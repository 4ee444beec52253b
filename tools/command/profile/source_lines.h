// SPDX-License-Identifier: MIT
// Source lines: what llvm-symbolizer or addr2line, whichever is installed, says of addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/profile/frame_name.h"

namespace pktmalloc {

// For each address of the file, in order: the functions there, innermost first, with "file:line";
// none where nothing is known. Throws Failure if neither tool is there.
std::vector<std::vector<FrameName>> source_lines(const std::string& file,
                                                 const std::vector<uint64_t>& addresses);

}  // namespace pktmalloc
