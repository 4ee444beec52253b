// SPDX-License-Identifier: MIT
// The heap profile as text for pprof.
#pragma once

#include "preload/contract/writer.h"

namespace pktmalloc {

void write_profile(Writer& out);

}  // namespace pktmalloc
