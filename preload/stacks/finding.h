// SPDX-License-Identifier: MIT
// Finding: reports a heap error. The first line says what and where; the stack of the call that
// showed it follows, and where the object was allocated and first freed.
//
// Takes no lock and allocates nothing itself; it asks the loader for names, so a caller must hold
// no lock of ours either. Writes on the other stack, if there is one: a signal's own is too small.
// A finding that a report itself leads to is ignored. Keeps errno.
#pragma once

#include <cstddef>

#include "preload/stacks/stacks.h"

namespace pktmalloc {

// What a report says of an object; a copy, because the object may go meanwhile.
struct Facts {
  const void* user = nullptr;
  size_t bytes = 0;
  StackId allocated_at = 0;
  StackId freed_at = 0;
  bool is_freed = false;        // by an earlier call
  bool is_most = false;         // it may have fewer bytes
  bool ends_by_signal = false;  // the access's own: nothing else ends the program
  // Of a broken beginning: the object in front, which is likely to have been overrun.
  const Facts* in_front = nullptr;
};

// `now` is the faulty call's stack, 0 if that is long past. Aborts the program, or returns if
// PKTMALLOC_CHECK=report or an access's own signal follows.
void tell(StackId now, const Facts& object, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// The same of a pointer that goes into `call`, and is not the start of a live object but of a freed
// one, or lies nearest to this one; without `user` to none. `found` ends the line of a double free.
void tell_wrong_pointer(StackId now, const Facts& object, const char* call, const void* p,
                        const char* found = "");

// The same of an access, which `what` names, to the byte there. `found` ends the line.
void tell_access(StackId now, const Facts& object, const char* what, uintptr_t address,
                 const char* found = "");

// The same of a call that is about to copy to `to`, outside of the object or after its free. The
// library's own copies, to an object that is not handed out yet, are right.
void tell_copy(Site site, const Facts& object, const void* to);

}  // namespace pktmalloc
