// SPDX-License-Identifier: MIT
// Flame graph: a page of its own, that needs nothing else, of which functions hold how many bytes.
// Bars lie on those that called them; a click widens one to the whole page, the field searches, and
// buttons choose which objects count.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/profile_table.h"

namespace pktmalloc {

// Shows those `counted` first.
std::string flame_graph_page(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                             Counted counted);

// The page of a heap profile in a file. Throws Failure.
std::string flame_graph_of(const std::string& path);

}  // namespace pktmalloc
