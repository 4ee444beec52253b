// SPDX-License-Identifier: MIT
// Unwinder: the calls that led here, frame by frame.
//
// By libgcc_s.so.1, which every C++ exception relies on and which takes no lock on the way
// (docs/decisions.md); that costs a quarter of a microsecond a frame. So what it finds is learned:
// a step, from a return address to the place of the next one, is the same each time unless the
// function's frame varies (alloca), and a stack all of whose steps are known is walked without it.
// A step that turns out to vary is never trusted again. Before load_unwinder() a stack is its
// innermost frame, and so it is for what the unwinder itself allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

inline constexpr unsigned kStackFrames = 32;

struct Frame {
  uintptr_t pc;      // return address
  uintptr_t offset;  // of the word that holds it, from the innermost frame's cfa; not known: 0
};

// A call into the library: where it returns to, and the stack pointer once it has.
struct Site {
  uintptr_t pc;
  uintptr_t cfa;  // canonical frame address, as DWARF calls it; 0: not known
};

inline uint64_t hash_of(Site site) {
  const uint64_t product = (site.pc ^ site.cfa) * 0x9E3779B97F4A7C15;
  return product ^ product >> 29;
}

// From the frame of `site` outwards.
struct Calls {
  explicit Calls(Site from) : site(from), words_known(from.cfa != 0) {}

  Site site;
  bool words_known;  // where on the stack every frame's return address lies
  uint32_t count = 0;
  Frame frames[kStackFrames];
};

void load_unwinder();

// At least one frame. Keeps errno.
void unwind(Calls& calls);

// The first frame from `site` outwards that is wanted: where it goes on, and what it has in the
// frame pointer's register. False if it is not known.
struct FoundFrame {
  uintptr_t pc, frame_pointer;
};
bool find_frame(Site site, bool (*wanted)(uintptr_t pc), FoundFrame& found);

// Around fork: waits, but not for ever, until nobody is unwinding, and lets nobody begin: the child
// would find the unwinder's locks held.
void stop_unwinding();
void allow_unwinding();

}  // namespace pktmalloc
