// SPDX-License-Identifier: MIT
// Unwind tables: find the calls that led here, frame by frame.
//
// libgcc_s.so.1 unwinds; every C++ exception relies on it, and it takes no lock on the way
// (docs/decisions.md), but it costs a quarter of a microsecond a frame. So its findings are
// learned: a step, from a return address to the place of the next one, is always the same unless
// the function's frame varies (alloca), and a stack whose steps are all known is walked without it.
// A step that turns out to vary is never trusted again. Before load_unwinder() a stack is its
// innermost frame; so it is for what the unwinder itself allocates.
#pragma once

#include <cstdint>

namespace pktmalloc {

// Of a stack that finds its way into a finding; those of the heap profile may be deeper.
inline constexpr unsigned kStackFrames = 32;

struct Frame {
  uintptr_t pc;      // return address
  uintptr_t offset;  // of the word that holds it, from the innermost frame's cfa; 0: unknown
};

// A call into the library: where it returns to, and the stack pointer after the return.
struct Site {
  uintptr_t pc;
  uintptr_t cfa;  // canonical frame address, as DWARF calls it; 0: unknown
};

inline uint64_t hash_of(Site site) {
  const uint64_t product = (site.pc ^ site.cfa) * 0x9E3779B97F4A7C15;
  return product ^ product >> 29;
}

// From the frame of `site` outwards.
struct Calls {
  // `room` for `frames_wanted`: the caller's, for few threads' stacks have room for many.
  Calls(Site from, Frame* room, uint32_t frames_wanted)
      : site(from), most(frames_wanted), words_known(from.cfa != 0), frames(room) {}

  Site site;
  uint32_t most;        // frames
  bool words_known;     // every frame's return address has a known place
  bool is_cut = false;  // there are more than `most`
  uint32_t count = 0;
  Frame* frames;
};

void load_unwinder();

// At least one frame. Keeps errno.
void unwind(Calls& calls);

// The first frame from `site` outwards that is not this library's: where it goes on, and its value
// of the frame pointer's register. Unless it is found, `found` stays as it is.
struct FoundFrame {
  uintptr_t pc, frame_pointer;
};
void find_frame_outside(Site site, FoundFrame& found);

}  // namespace pktmalloc
