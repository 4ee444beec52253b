// SPDX-License-Identifier: MIT
// Demangled: names of C++ and Rust as in the source.
#pragma once

#include <string>

namespace pktmalloc {

// Any other name is as it was. Without the version of a symbol.
std::string demangled(std::string name);

}  // namespace pktmalloc
