// SPDX-License-Identifier: MIT
// A file that an option names, such as PKTMALLOC_STATS: its path, and how to write it.
//
// A reader finds the previous report or the new one, never half of one: the report is written under
// a temporary name beside the file and then takes its place. Anything but a regular file (a pipe, a
// device) is written directly, and never waited for long: a pipe must have its reader when it is
// opened.
//
// The content shows the program's inside, and root may have started it: only its owner has access
// to a new file, one that replaces another keeps that one's access rights, and symbolic links are
// not followed, except those that name descriptors, such as /dev/stderr.
//
// Without a file a report goes to the stderr that the process had at load. Some programs, such as
// GNU coreutils, close theirs in an exit handler, before library destructors run, and another file
// may have its number by then.
#pragma once

#include <climits>
#include <string_view>

#include "preload/formats/writer.h"

namespace pktmalloc {

struct ReportPath {
  char path[PATH_MAX];

  // Fills the process id, the program's name and the number of the report into the pattern, and
  // puts the process's start folder before it. False if that is too long.
  bool name(const char* pattern, unsigned number);

  bool ends_with(const char* ending) const { return std::string_view(path).ends_with(ending); }

  // For a file that grows: its descriptor, or -1 with errno. Unlinks an existing file rather than
  // empty it.
  int open_growing() const;
  // For a file that is mapped shared: a new one, in place of an existing regular file; its
  // descriptor, or -1 with errno.
  int open_shared() const;
  // Opens the same file again, to go on at its end.
  int open_again() const;

  // Words for the errno of a failure.
  const char* why(int error) const;
};

// For a file that is written in one go. 40 KB: too large for a small thread's stack.
struct ReportFile : ReportPath {
  // Writes what `print` prints; false with errno.
  bool write(void (*print)(Writer& out));

  char temporary[PATH_MAX + 32];  // the name until it is complete
  char buffer[32 << 10];          // for the function that prints: most go out in one piece, which
                                  // stays whole in a pipe that has room for it
};

// At load: takes a copy if anything is to be written there at exit.
void keep_stderr();

// The descriptor that was stderr at load, if it still is; -1: it is gone, or was not kept.
int kept_stderr();

// Does PKTMALLOC_TELL name this process?
bool tells_files();

// Says there where a file is and, unless nullptr, which command reads it.
void tell_file(const char* what, const char* path, const char* command);

}  // namespace pktmalloc
