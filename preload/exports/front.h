// SPDX-License-Identifier: MIT
// Front: the functions that the exports call, under one name for the normal and for the checked
// library. The only place where the two part.
#pragma once

#if PKTMALLOC_CHECKED
#include "preload/checked/checked_entry.h"
namespace pktmalloc {
namespace front = ::pktmalloc::checked;
}
#else
#include "preload/serving/fast_path.h"
namespace pktmalloc {
namespace front = ::pktmalloc;
}
#endif
