// SPDX-License-Identifier: MIT
// Observers: the trace and the record of sizes, which see every call while an option or an order
// asks for it.
//
// Meanwhile every thread's lists are the null cache's (thread.h, begin_observation), so each
// malloc, free and realloc reaches the slow path (slow_path.cpp), which tells them here and works
// on the thread's real magazines. Without one the fast path stays as it is.
//
// They must not allocate, fork, or lock anything that is held while something else allocates. They
// are called in the thread that makes the call, with the errno that the caller will see, but never
// in a thread between the fork handlers. Their own locks are taken around fork.
#pragma once

#include <cstddef>

namespace pktmalloc {

// `alignment` is the one asked for, 0 for malloc and plain new; zeroed: by calloc. p may be null:
// refused.
void tell_allocated(void* p, size_t bytes, size_t alignment, bool is_zeroed = false);
// Before anybody else can get the memory. p is not null, but may be an object from before
// observation started. If it `is_moving`, the next allocator will resize p, and may give its memory
// to anybody. tell_resized() follows in the same thread; if the resize is refused, with p itself.
void tell_released(void* p, bool is_moving = false);
// `from` was resized and is now p. Unless it `was_moving`, nobody else has `from` yet.
void tell_resized(void* from, void* p, size_t bytes, bool was_moving);

}  // namespace pktmalloc
