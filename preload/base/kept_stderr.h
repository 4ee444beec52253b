// SPDX-License-Identifier: MIT
// The stderr that the process had at load, for output at its end. Some programs, such as GNU
// coreutils, close theirs in an exit handler, before library destructors run, and another file may
// have its number by then.
#pragma once

namespace pktmalloc {

// At load: takes a copy if anything is to be written there at exit.
void keep_stderr();

// The descriptor that was stderr at load, if it still is; -1: it is gone, or was not kept.
int kept_stderr();

// Does PKTMALLOC_TELL name this process?
bool tells_files();

// Says there where a file is and, unless nullptr, which command reads it.
void tell_file(const char* what, const char* path, const char* command);

}  // namespace pktmalloc
