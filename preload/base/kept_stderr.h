// SPDX-License-Identifier: MIT
// The stderr that the process had at load, for what is written at its end. Some programs, such as
// GNU coreutils, close theirs in an exit handler, before library destructors run, and its number
// may be another file's by then.
#pragma once

namespace pktmalloc {

// At load, if anything is to be written there at exit: takes a copy. Keeps errno.
void keep_stderr();

// The descriptor that was stderr at load and still is; -1: it is gone, or was not kept.
int kept_stderr();

// Is this the process that PKTMALLOC_TELL names?
bool tells_files();

// There, on stderr: where a file is and, unless nullptr, the command that reads it.
void tell_file(const char* what, const char* path, const char* command);

}  // namespace pktmalloc
