// SPDX-License-Identifier: MIT
// The heap profile of this process as text for pprof (contract/heap_profile.h).
#pragma once

#include "preload/contract/writer.h"

namespace pktmalloc {

void write_profile(Writer& out);

}  // namespace pktmalloc
