// SPDX-License-Identifier: MIT
// FramePointers: walks the stack by the chain of saved frame pointers, for programs compiled with
// -fno-omit-frame-pointer and for code without unwind tables. A word that nobody may read ends the
// walk, whatever the chain holds.
//
// Frames of this library have none: if `site` lies in it, its tables unwind them.
#pragma once

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// frames: kStackFrames of them, from the site outwards. Returns how many there are: 1 at least.
unsigned walk_frame_pointers(Site site, uintptr_t* frames);

}  // namespace pktmalloc
