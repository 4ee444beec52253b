// SPDX-License-Identifier: MIT
// Opens the window (contract/live_window.h) at load, and keeps what is counted in it alone.
#pragma once

#include <cstdint>

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part window_part;

// One more call of dlopen whose RTLD_DEEPBIND is ignored; how many there were before.
uint64_t count_deep_binding();

}  // namespace pktmalloc
