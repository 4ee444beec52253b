// SPDX-License-Identifier: MIT
// Size recording: PKTMALLOC_SIZES observes every call and records what the program asks for: for
// each size and alignment the calls, the objects live when the program held most, and the threads
// that used it. report.h writes the record as JSON, at exit and while the program runs; `pktmalloc
// tune` reads it.
//
// The child of a fork goes on recording: it keeps the live objects, but counts calls, threads and
// the peak anew. If memory for the record is refused, recording ends with one line on stderr; the
// file then says how many allocations are missing.
#pragma once

#include "preload/formats/writer.h"

namespace pktmalloc {

// Is there a record to write?
bool recording_sizes();
// What calls do (observer.h), if there is.
void size_allocated(void* p, size_t bytes, size_t alignment);
void size_released(void* p);
// The program asked how many bytes of an object it may use; perhaps between the fork handlers.
void size_asked();

// Writes JSON. One thread at a time; holds no lock meanwhile, so that no allocation waits for it.
void write_sizes(Writer& out);

}  // namespace pktmalloc
