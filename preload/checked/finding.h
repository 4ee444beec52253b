// SPDX-License-Identifier: MIT
// Finding: how a heap error is told. One first line, what and where; then the stack of the call
// that showed it, and where the object was allocated and first freed. Then the program is aborted,
// or goes on if PKTMALLOC_CHECK=report.
//
// Takes no lock and allocates nothing itself; the loader is asked for names, so a caller must hold
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
};

// `now` is the faulty call's stack, 0 if it is long past.
void tell(StackId now, const Facts& object, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace pktmalloc::checked
