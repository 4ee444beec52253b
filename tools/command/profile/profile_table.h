// SPDX-License-Identifier: MIT
// ProfileTable: what a heap profile says of each stack, by the names of its functions; or how two
// profiles differ. Addresses are gone here, so profiles of different processes can be compared.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/heap_profile.h"
#include "tools/command/profile/symbolizer.h"

namespace pktmalloc {

enum class Counted : uint8_t { kLive, kAll };

struct ProfileRow {
  std::vector<FrameName> frames;  // innermost first
  Estimate amount;                // of a difference, objects and bytes may be negative
};

struct ProfileTable {
  std::vector<ProfileRow> rows;  // the most bytes first; of a difference, what grew most
  Estimate total;
};

ProfileTable profile_table(const HeapProfile& profile, Counted counted, Symbolizer& symbolizer);
ProfileTable profile_growth(const HeapProfile& before, const HeapProfile& after, Counted counted,
                            Symbolizer& symbolizer);

// "name (module)" or "name at map.cpp:12".
std::string frame_text(const FrameName& frame);

// For flamegraph.pl, speedscope and others: "main;grow;malloc_all 4096", a line a stack.
std::string collapsed_stacks(const ProfileTable& table);

}  // namespace pktmalloc
