// SPDX-License-Identifier: MIT
// What the checked library does during the life of the process.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part checks_part;

}  // namespace pktmalloc
