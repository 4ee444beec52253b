// SPDX-License-Identifier: MIT
// Flame graph: a page of its own, that needs nothing else, of which functions hold how many bytes.
// Bars lie on those that called them; a click widens one to the whole page, the field searches, and
// buttons choose which objects count, tell threads apart where the profile does, and turn the
// stacks round: allocating functions below, on them who called them. Of two profiles, bars are as
// wide as the larger of the two amounts below them, red where it has grown and blue where it has
// shrunk.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/profile_table.h"

namespace pktmalloc {

// Shows those `counted` first.
std::string flame_graph_page(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                             Counted counted);

// Of stacks that were compared.
std::string growth_page(const std::vector<NamedStack>& stacks, const HeapProfile& before,
                        const HeapProfile& now, Counted counted);

// Of profiles of one process, in their order: a slider chooses the moment. Throws Failure.
std::string time_page(const std::vector<std::string>& files, Counted counted,
                      Symbolizer& symbolizer);

// The page of a heap profile in a file, or of several over time. Throws Failure.
std::string flame_graph_of(const std::vector<std::string>& files);

}  // namespace pktmalloc
