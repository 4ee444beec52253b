// SPDX-License-Identifier: MIT
// Inspection: whether an object is as it must be, and what is told if it is not.
#pragma once

#include "preload/checked/finding.h"

namespace pktmalloc::checked {

// The canaries of an object, which are mended if they are broken: one fault is told once.
// `now`: the call that asks; 0 at exit.
void inspect_edges(Header& header, StackId now);

// Seal, canaries and poison of an object that leaves the quarantine. False if the header is
// destroyed, so that nobody knows where the memory belongs.
bool inspect_freed(Header& header);

// All live objects, at exit.
void inspect_all();

}  // namespace pktmalloc::checked
