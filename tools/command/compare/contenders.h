// SPDX-License-Identifier: MIT
// Contenders: the allocators that commands are run under.
#pragma once

#include <string>
#include <vector>

#include "tools/command/system/allocator.h"

namespace pktmalloc {

// glibc, then the others: those that are installed, or those of the list, and pktmalloc if none of
// them is ours. Throws Failure when one is not there, is named twice, or cannot be preloaded.
std::vector<Allocator> find_contenders(const std::vector<std::string>& wanted);

// As find_allocator(). Throws Failure also when it cannot be preloaded.
Allocator find_contender(const std::string& wanted);

}  // namespace pktmalloc
