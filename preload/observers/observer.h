// SPDX-License-Identifier: MIT
// Observers: what sees every call, while an option asks for it (sizes, traces).
//
// While there is one, every thread's lists are the null cache's, so each malloc, free and realloc
// arrives in the slow path (slow_path.cpp), which tells the observers and works on the thread's
// real magazines. Without one the fast path is what it always was.
//
// An observer must not allocate, lock anything that is held while something else allocates, or
// fork. It is called in the thread that makes the call, with the errno the caller will see; in one
// that is between the fork handlers it is not called at all. Its own locks are taken around fork.
#pragma once

#include <cstddef>

namespace pktmalloc {

struct Observer {
  // p is not null; `alignment` is what was asked for, 0 for malloc and plain new.
  void (*allocated)(void* p, size_t bytes, size_t alignment);
  // Before the memory can be anybody else's. p is not null; objects from before the start of the
  // observation come as well.
  void (*released)(void* p);
  // An observer that has none of the following hears of what they are made of: an allocation of
  // `bytes`, a release, and both. calloc:
  void (*zeroed)(void* p, size_t bytes) = nullptr;
  // The next allocator is asked to resize p, and may give its memory to anybody. `resized` follows,
  // in the same thread; when that is refused, with p itself.
  void (*moving)(void* p) = nullptr;
  // `from` was resized: it is p now. Unless it was `moving`, `from` is not anybody else's yet.
  void (*resized)(void* from, void* p, size_t bytes, bool was_moving) = nullptr;
};

// At load, before the program has a second thread: from now on `observer` sees all calls.
void observe(const Observer& observer);

// For slow_path.cpp, when `observing`.
void tell_allocated(void* p, size_t bytes, size_t alignment);
void tell_zeroed(void* p, size_t bytes);
void tell_released(void* p);
void tell_moving(void* p);
void tell_resized(void* from, void* p, size_t bytes, bool was_moving);

}  // namespace pktmalloc
