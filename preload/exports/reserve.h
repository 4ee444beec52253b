// SPDX-License-Identifier: MIT
// Reserve: memory for objects before there are any (PKTMALLOC_RESERVE, pktmalloc_reserve).
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part reserve_part;

}  // namespace pktmalloc
