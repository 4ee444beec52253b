// SPDX-License-Identifier: MIT
// FramePointers: walks the stack by the chain of saved frame pointers, for programs compiled with
// -fno-omit-frame-pointer and for code without unwind tables. A word that nobody may read ends the
// walk, whatever the chain holds.
//
// Frames of this library have none: if `site` lies in it, its tables unwind them.
#pragma once

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// From the site outwards: room for `most`. There is one at least.
struct WalkedFrames {
  unsigned count;
  bool is_cut;  // there are more
};
WalkedFrames walk_frame_pointers(Site site, uintptr_t* frames, unsigned most);

}  // namespace pktmalloc
