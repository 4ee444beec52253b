// SPDX-License-Identifier: MIT
// pprof: a heap profile in the format of Google's pprof (profile.proto), with the names of its
// functions. The text that the library writes holds two numbers of each stack there; this holds all
// that is counted, each as sample types of its own.
#pragma once

#include <string>
#include <vector>

#include "tools/command/profile/profile_table.h"

namespace pktmalloc {

// pprof shows the bytes of those `counted` unless told otherwise.
std::string pprof_profile(const std::vector<NamedStack>& stacks, const HeapProfile& profile,
                          Counted counted);

}  // namespace pktmalloc
