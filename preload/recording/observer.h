// SPDX-License-Identifier: MIT
// Observers: see every call, while an option or an order asks for it (sizes, traces).
//
// While there is one, every thread's lists are the null cache's, so each malloc, free and realloc
// reaches the slow path (slow_path.cpp), which tells the observers and works on the thread's real
// magazines. Without one the fast path stays as it is.
//
// An observer must not allocate, fork, or lock anything that is held while something else
// allocates. It is called in the thread that makes the call, with the errno that the caller will
// see, but never in a thread between the fork handlers. Its own locks are taken around fork.
#pragma once

#include <cstddef>

namespace pktmalloc {

struct Observer {
  // p is not null; `alignment` is the one asked for, 0 for malloc and plain new.
  void (*allocated)(void* p, size_t bytes, size_t alignment);
  // Called before anybody else can get the memory. p is not null, but may be an object from before
  // observation started.
  void (*released)(void* p);
  // An observer without one of the following gets its parts instead: an allocation of `bytes`, a
  // release, or both. calloc:
  void (*zeroed)(void* p, size_t bytes) = nullptr;
  // The next allocator will resize p, and may give its memory to anybody. `resized` follows in the
  // same thread; if the resize is refused, with p itself.
  void (*moving)(void* p) = nullptr;
  // `from` was resized and is now p. Unless it was `moving`, nobody else has `from` yet.
  void (*resized)(void* from, void* p, size_t bytes, bool was_moving) = nullptr;
  // The program asked how many bytes of an object it may use.
  void (*asked)() = nullptr;
};

// From now on `observer` sees all calls: at load, before the program has a second thread, or while
// the program runs, if divert_next_calls() follows (thread.h). One thread at a time.
void observe(const Observer& observer);
// One of them does not need to see calls any more, and is told some all the same.
void end_observation();

// For slow_path.cpp, when `observing`.
void tell_allocated(void* p, size_t bytes, size_t alignment);
void tell_zeroed(void* p, size_t bytes);
void tell_released(void* p);
void tell_moving(void* p);
void tell_resized(void* from, void* p, size_t bytes, bool was_moving);
void tell_asked();

}  // namespace pktmalloc
