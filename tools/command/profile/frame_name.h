// SPDX-License-Identifier: MIT
// What a frame of a stack is called.
#pragma once

#include <string>

namespace pktmalloc {

// A function that a return address lies in, or was inlined there.
struct FrameName {
  std::string function;
  std::string module;  // the file's name
  std::string line;    // "map.cpp:12"; "" if it is not known
};

}  // namespace pktmalloc
