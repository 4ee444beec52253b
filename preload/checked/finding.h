// SPDX-License-Identifier: MIT
// What a finding says of a dressed object.
#pragma once

#include "preload/checked/object.h"
#include "preload/stacks/finding.h"

namespace pktmalloc::checked {

struct Facts : pktmalloc::Facts {
  Facts() = default;
  explicit Facts(const Header& header)
      : pktmalloc::Facts{header.user(),
                         header.bytes,
                         header.allocated_at,
                         header.freed_at.load(std::memory_order_relaxed),
                         {}} {}
};

}  // namespace pktmalloc::checked
