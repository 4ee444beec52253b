// SPDX-License-Identifier: MIT
// HugePages: what to ask of the system about transparent huge pages for objects.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class HugePages : uint8_t {
  kAuto,     // nothing: the system's own setting decides
  kNever,    // none, whatever the system's setting
  kMadvise,  // for areas that have grown (huge_slabs.cpp), unless the system has none at all
};

}  // namespace pktmalloc
