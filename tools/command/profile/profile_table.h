// SPDX-License-Identifier: MIT
// ProfileTable: what a heap profile says of each stack, by the names of its functions; or how two
// profiles differ. Addresses are gone here, so profiles of different processes can be compared.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/heap_profile.h"
#include "tools/command/profile/symbolizer.h"

namespace pktmalloc {

struct NamedStack {
  std::vector<FrameName> frames;  // innermost first
  Estimates now;
  Estimates before;  // in the profile that this one is compared with
};

std::vector<NamedStack> named_stacks(const HeapProfile& profile, Symbolizer& symbolizer);
std::vector<NamedStack> compared_stacks(const HeapProfile& before, const HeapProfile& now,
                                        Symbolizer& symbolizer);

struct ProfileRow {
  std::vector<FrameName> frames;  // innermost first
  Estimate amount;                // of a difference, objects and bytes may be negative
};

struct ProfileTable {
  std::vector<ProfileRow> rows;  // the most bytes first; of a difference, what grew most
  Estimate total;
};

ProfileTable profile_table(const std::vector<NamedStack>& stacks, Counted counted);

// What people look for: what is live, unless less than a tenth of the peak still is. Then the peak.
Counted foremost(const HeapProfile& profile);

// "name (module)" or "name at map.cpp:12".
std::string frame_text(const FrameName& frame);

// For flamegraph.pl, speedscope and others: "main;grow;malloc_all 4096", a line a stack.
std::string collapsed_stacks(const ProfileTable& table);

}  // namespace pktmalloc
