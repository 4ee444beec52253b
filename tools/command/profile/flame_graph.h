// SPDX-License-Identifier: MIT
// Flame graph: a page of its own, that needs nothing else, of which functions hold how many bytes.
// Bars lie on those that called them; a click widens one to the whole page, the field searches.
#pragma once

#include <string>

#include "tools/command/profile/profile_table.h"

namespace pktmalloc {

// `what` the bytes are: "live" or "allocated since start".
std::string flame_graph_page(const ProfileTable& table, const HeapProfile& profile,
                             const std::string& what);

// The page of a heap profile in a file. Throws Failure.
std::string flame_graph_of(const std::string& path);

}  // namespace pktmalloc
