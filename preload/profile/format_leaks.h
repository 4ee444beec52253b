// SPDX-License-Identifier: MIT
// Leaks: shows people the places that hold memory at exit (PKTMALLOC_PROFILE_LEAKS). Allocates
// nothing.
#pragma once

#include "preload/contract/writer.h"

namespace pktmalloc {

void write_leaks(Writer& out);

}  // namespace pktmalloc
