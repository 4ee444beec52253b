// SPDX-License-Identifier: MIT
// Standard output: what was printed arrives, or its loss is told. And what it is written for.
#pragma once

#include <cstddef>

namespace pktmalloc {

// Throws Failure when what was printed could not be written.
void flush_standard_output();

// After a write to stdout that failed: where nobody reads it any more (EPIPE) the process ends by
// SIGPIPE, as it does where that signal is not ignored.
void end_if_unread(int error);

// Of the terminal; 80 where there is none.
size_t output_columns();

// A terminal that shows colours, and nobody asked for none (NO_COLOR).
bool output_has_colours();

}  // namespace pktmalloc
