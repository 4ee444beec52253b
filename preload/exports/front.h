// SPDX-License-Identifier: MIT
// Front: the functions that the exports call, under one name for the normal, the hardened and the
// checked library. Only here do the three differ.
#pragma once

#if PKTMALLOC_CHECKED
#include "preload/serving/twin_calls.h"
namespace front = pktmalloc::twin;
#elif PKTMALLOC_HARDENED
#include "preload/hardened/hardened_entry.h"
namespace front = pktmalloc::hardened;
#else
#include "preload/serving/fast_path.h"
namespace front = pktmalloc;
#endif
