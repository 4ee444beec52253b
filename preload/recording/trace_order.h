// SPDX-License-Identifier: MIT
// Traces by order (pktmalloc tell), while the program runs.
//
// One thread at a time, with no fork meanwhile; it may have a table of descriptors of its own. Both
// return nullptr, or why nothing is done: words behind "the trace".
#pragma once

namespace pktmalloc {

// A trace from each thread's next call on, if divert_next_calls() follows; in the file that the
// pattern of an absolute path names.
const char* start_trace(const char* pattern);
const char* stop_trace();

}  // namespace pktmalloc
