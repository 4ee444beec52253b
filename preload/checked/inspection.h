// SPDX-License-Identifier: MIT
// Inspection: whether an object is as it must be, and what is told if it is not.
#pragma once

#include "preload/checked/finding.h"

namespace pktmalloc::checked {

// The canaries of an object, which are mended if they are broken: one fault is told once.
// `now`: the call that asks; 0 at exit.
void mend_edges(Header& header, StackId now);
inline void inspect_edges(Header& header, StackId now) {
  if (!edges_intact(header)) [[unlikely]]
    mend_edges(header, now);
}

// What is left of an object without seal: where it is, and its size as far as that can be known.
// `what` happens to it.
void tell_overwritten(const char* what, const Header& header, StackId now);

// Seal, canaries and poison of an object that leaves the quarantine. False if the header is
// overwritten, so that nobody knows where the memory belongs.
bool inspect_damaged(Header& header);
inline bool inspect_freed(Header& header) {
  if (header.sealed() && edges_intact(header) && filled(header.user(), kFreedByte, header.bytes))
      [[likely]] {
    return true;
  }
  return inspect_damaged(header);
}

// All live objects, at exit.
void inspect_all();

}  // namespace pktmalloc::checked
