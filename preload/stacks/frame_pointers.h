// SPDX-License-Identifier: MIT
// FramePointers: finds the stack by the chain of saved frame pointers, for programs compiled with
// -fno-omit-frame-pointer and for code without unwind tables. A word that nobody may read ends the
// walk, whatever the chain holds.
//
// Frames of this library have none: if `site` lies in it, its tables unwind them.
#pragma once

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// As capture() (stacks.h).
StackId capture_by_frame_pointers(Site site);

}  // namespace pktmalloc
