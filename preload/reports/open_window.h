// SPDX-License-Identifier: MIT
// Opens the window (contract/window.h) at load.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part window_part;

}  // namespace pktmalloc
