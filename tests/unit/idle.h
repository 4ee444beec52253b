// SPDX-License-Identifier: MIT
// All that is there becomes idle, as malloc_trim has it.
#pragma once

#include "sizeclass/base/low_water.h"

namespace pktmalloc::test {

// `of`: what its tick() takes. Returns how many are idle.
template <typename Ageing, typename... Of>
uint32_t make_idle(Ageing& ageing, Of... of) {
  uint32_t idle = 0;
  for (unsigned n = 0; n < LowWater::kAllTicks; ++n) idle = ageing.tick(of...);
  return idle;
}

}  // namespace pktmalloc::test
