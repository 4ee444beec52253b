// SPDX-License-Identifier: MIT
// Become: this process becomes a command, which is looked up in PATH if it has no slash.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// Returns only if that fails; errno tells why.
void become(const std::vector<std::string>& words);

}  // namespace pktmalloc
