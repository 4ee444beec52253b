// SPDX-License-Identifier: MIT
// Finding: reports a heap error. The first line says what and where; the stack of the call that
// showed it follows, and where the object was allocated and first freed. Then the program aborts,
// or goes on if PKTMALLOC_CHECK=report.
//
// Takes no lock and allocates nothing itself; it asks the loader for names, so a caller must hold
// no lock of ours either.
#pragma once

#include "preload/checked/object.h"

namespace pktmalloc::checked {

// What a report says of an object; a copy, because the object may go meanwhile.
struct Facts {
  Facts() = default;
  explicit Facts(const Header& header)
      : user(header.user()),
        bytes(header.bytes),
        allocated_at(header.allocated_at),
        freed_at(header.freed_at.load(std::memory_order_relaxed)) {}

  const void* user = nullptr;
  size_t bytes = 0;
  StackId allocated_at = 0;
  StackId freed_at = 0;
  // Of a broken beginning: the object in front, which is likely to have been overrun. nullptr:
  // none.
  const Header* in_front = nullptr;
};

// `now` is the faulty call's stack, 0 if that is long past.
void tell(StackId now, const Facts& object, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace pktmalloc::checked
