// SPDX-License-Identifier: MIT
// Recovery: writes the reports that a process did not write, from its recording.
#pragma once

#include "tools/command/recovery/recording_file.h"

namespace pktmalloc {

// To the places that the process would have written them to, and says on stderr where they are, and
// what is lost; but not of files in the folder `untold`. The process must have ended. It may have
// ended as another program than the recorded one, surely or by the owner of a report: what that one
// wrote stays. False when one could not be written.
bool recover(const RecordingFile& recording, const std::string& untold = "",
             bool is_another = false);

// The last part of the trace, added to its file (trace_end.cpp). False: the file has another trace,
// of what the process became.
bool recover_trace(const RecordingFile& recording);

// False, too, if there is no folder.
bool is_within(const std::string& path, const std::string& folder);

}  // namespace pktmalloc
