// SPDX-License-Identifier: MIT
// Recovery: writes the reports that a process did not write, from its recording.
#pragma once

#include "tools/command/recovery/recording_file.h"

namespace pktmalloc {

// To the places that the process would have written them to, and says on stderr where they are, and
// what is lost. The process must have ended. False when one could not be written.
bool recover(const RecordingFile& recording);

// The last part of the trace, added to its file (trace_end.cpp).
void recover_trace(const RecordingFile& recording);

// A line on stderr.
void tell(const std::string& line);
// Tells on stderr where a file is and, unless nullptr, which command reads it.
void tell_file(const char* what, const std::string& path, const char* command);

}  // namespace pktmalloc
