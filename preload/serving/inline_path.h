// SPDX-License-Identifier: MIT
// Inline path: lets the code that pktmalloc.hpp inlines into programs use the threads' caches as
// fast_path.h does. contract/pktmalloc_path.hpp says what that code knows; here the library checks
// it and fills it in.
//
// Each call that the caches' marks send to the slow path comes here as a call of malloc or free, so
// nothing else of the library knows of this code. The checked and the hardened library offer no
// path, as they look at each call.
#pragma once

#include "preload/process/part.h"

namespace pktmalloc {

extern const Part inline_path_part;

}  // namespace pktmalloc
