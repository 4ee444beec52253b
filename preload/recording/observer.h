// SPDX-License-Identifier: MIT
// Observers: the trace (trace.cpp) and the record of sizes (size_recording.cpp), which see every
// call while an option or an order asks for it.
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

#include "preload/formats/writer.h"

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

// By order (pktmalloc tell), while the program runs. One thread at a time, with no fork meanwhile;
// it may have a table of descriptors of its own. Both return nullptr, or why nothing is done: words
// behind "the trace".
// A trace from each thread's next call on, if divert_next_calls() follows; in the file that the
// pattern of an absolute path names.
const char* start_trace(const char* pattern);
const char* stop_trace();
const char* trace_path();  // of the latest

// Is there a record of sizes to write?
bool recording_sizes();
// What calls do to it, if there is one.
void size_allocated(void* p, size_t bytes, size_t alignment);
void size_released(void* p);
// The program asked how many bytes of an object it may use; perhaps between the fork handlers.
void size_asked();

// Writes it as JSON. One thread at a time; holds no lock meanwhile, so that no allocation waits for
// it.
void write_sizes(Writer& out);

}  // namespace pktmalloc
