// SPDX-License-Identifier: MIT
// Leaks: which places hold memory at exit, for people (PKTMALLOC_PROFILE_LEAKS). Allocates nothing.
#pragma once

#include "preload/contract/writer.h"

namespace pktmalloc {

void write_leaks(Writer& out);

}  // namespace pktmalloc
