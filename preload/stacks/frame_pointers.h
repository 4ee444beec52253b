// SPDX-License-Identifier: MIT
// FramePointers: the stack by the chain of saved frame pointers, for programs that were compiled
// with -fno-omit-frame-pointer and for code without unwind tables. A word that nobody may read ends
// the walk, whatever the chain holds.
//
// Frames of this library have none: where `site` lies in it, these are unwound by its tables.
#pragma once

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// frames: kStackFrames of them, from the site outwards. Returns how many there are: 1 at least.
unsigned walk_frame_pointers(Site site, uintptr_t* frames);

}  // namespace pktmalloc
