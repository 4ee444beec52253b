// SPDX-License-Identifier: MIT
// What makes a stack readable: names as in the source, and no more frames than people look for.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/frame_name.h"

namespace pktmalloc {

// Of functions of the C++ standard library that call each other only the outermost is left: that
// which the program called.
void fold_standard_library(std::vector<FrameName>& frames);

// A stack that was deeper than what is recorded gets this frame outside, so that all such stacks
// are under one root.
inline constexpr const char* kCutOff = "[deeper than is recorded]";
// In files of schema 1, which do not tell. `recorded`: addresses of it.
bool looks_cut_off(const std::vector<FrameName>& frames, size_t recorded);

}  // namespace pktmalloc
