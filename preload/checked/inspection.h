// SPDX-License-Identifier: MIT
// Inspection: checks whether an object is as it must be, and reports it if not.
#pragma once

#include "preload/checked/poison.h"
#include "preload/stacks/finding.h"

namespace pktmalloc::checked {

// What a finding says of a dressed object.
inline Facts facts_of(const Header& header) {
  return {.user = header.user(),
          .bytes = header.bytes,
          .allocated_at = header.allocated_at,
          .freed_at = header.freed_at.load(std::memory_order_relaxed)};
}

// Checks an object's canaries and mends broken ones, so that one fault is reported once. `now`: the
// call that asks; 0 at exit.
void mend_edges(Header& header, StackId now);
inline void inspect_edges(Header& header, StackId now) {
  if (!near_edges_intact(header)) [[unlikely]]
    mend_edges(header, now);
}

// Reports what is left of an object without seal: its place, and its size as far as it can be
// known. `what` happens to it.
void tell_overwritten(const char* what, const Header& header, StackId now);

// Checks seal, canaries and poison of an object that has waited after free. False if the header is
// overwritten, so that nobody knows where the memory belongs. `first`: of the poison's two forms.
bool inspect_damaged(Header& header, size_t (*first)(const Header&));
inline bool inspect_freed(Header& header) {
  if (header.sealed() && edges_intact(header)) [[likely]] {
    if (header.bytes >= kLeastLarge) {
      if (!expose(header)) return false;
    } else if (filled(header.user(), kFreedByte, header.bytes)) {
      return true;
    }
  }
  return inspect_damaged(header, first_written);
}
inline bool inspect_recent(Header& header) {
  if (header.sealed() && near_edges_intact(header) && ends_unwritten(header)) [[likely]]
    return true;
  return inspect_damaged(header, first_written_at_ends);
}

// Checks all live objects, at exit.
void inspect_all();

}  // namespace pktmalloc::checked
