// SPDX-License-Identifier: MIT
// Front: the functions that the exports call, under one name for the normal and the checked
// library. Only here do the two differ.
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
