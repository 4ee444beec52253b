// SPDX-License-Identifier: MIT
// HugePages: what to ask of the system about transparent huge pages for objects.
#pragma once

#include <cstdint>

namespace pktmalloc {

enum class HugePages : uint8_t {
  kAuto,     // nothing: the system's own setting decides
  kNever,    // none, whatever the system's setting
  kMadvise,  // for a pool that has grown (slab_pool.cpp), unless the system has none at all
};

}  // namespace pktmalloc
