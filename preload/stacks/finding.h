// SPDX-License-Identifier: MIT
// Finding: reports a heap error. The first line says what and where; the stack of the call that
// showed it follows, and where the object was allocated and first freed.
//
// Takes no lock and allocates nothing itself; it asks the loader for names, so a caller must hold
// no lock of ours either. Writes on the other stack, if there is one: a signal's own is too small.
// A finding that a report itself leads to is ignored.
#pragma once

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// What a report says of an object; a copy, because the object may go meanwhile.
struct Facts {
  const void* user = nullptr;
  size_t bytes = 0;
  StackId allocated_at = 0;
  StackId freed_at = 0;
  // Of a broken beginning: the object in front, which is likely to have been overrun.
  struct {
    const void* user = nullptr;
    size_t bytes = 0;
    StackId allocated_at = 0;  // 0: there is none
  } in_front;
};

// `now` is the faulty call's stack, 0 if that is long past. Aborts the program, or returns if
// PKTMALLOC_CHECK=report.
void tell(StackId now, const Facts& object, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The same for an access whose own signal follows: always returns.
void tell_fault(StackId now, const Facts& object, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace pktmalloc
