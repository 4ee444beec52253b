// SPDX-License-Identifier: MIT
// Sizes: PKTMALLOC_SIZES records what the program asks for, as an observer of every call, and
// writes it at exit as JSON: for each size and alignment the calls, the objects that were live when
// the program held most, and the threads that used it. `pktmalloc tune` reads it.
//
// In the child of a fork the record goes on: objects live on, calls, threads and the peak are the
// child's own. When memory for the record is refused it ends, in one line; the file then says how
// many allocations are missing.
#pragma once

namespace pktmalloc {

// At load, once the options are known.
void sizes_load();

}  // namespace pktmalloc
