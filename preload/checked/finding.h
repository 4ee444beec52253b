// SPDX-License-Identifier: MIT
// What a finding says of a dressed object.
#pragma once

#include "preload/checked/object.h"
#include "preload/stacks/finding.h"

namespace pktmalloc::checked {

inline Facts facts_of(const Header& header) {
  return {.user = header.user(),
          .bytes = header.bytes,
          .allocated_at = header.allocated_at,
          .freed_at = header.freed_at.load(std::memory_order_relaxed)};
}

}  // namespace pktmalloc::checked
