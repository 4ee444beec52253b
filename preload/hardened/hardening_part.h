// SPDX-License-Identifier: MIT
// Hardening part: what the hardened library does in the life of the process.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part hardening_part;

}  // namespace pktmalloc
