// SPDX-License-Identifier: MIT
// Opens the window (formats/live_window.h) at load, and keeps the counts that only it has.
#pragma once

#include <cstdint>

namespace pktmalloc {

// Counts a call of dlopen whose RTLD_DEEPBIND is ignored; returns how many there were before.
uint64_t count_deep_binding();

}  // namespace pktmalloc
