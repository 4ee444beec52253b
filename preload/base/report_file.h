// SPDX-License-Identifier: MIT
// A file that an option names, such as PKTMALLOC_STATS: its path, and how it is written.
//
// A reader finds the previous report or the new one, never half of one: it is written under a
// temporary name beside the file and then takes its place. What is no regular file (a pipe, a
// device) is written to as it is, and never waited for long: a pipe must have its reader when it is
// opened.
//
// What is written tells of the program's inside, and who starts it may be root: a new file is its
// owner's alone, one that takes another's place keeps that one's access rights, and a symbolic link
// is not followed, but those by which the system names descriptors, such as /dev/stderr.
#pragma once

#include <climits>

#include "preload/contract/writer.h"

namespace pktmalloc {

struct ReportPath {
  char path[PATH_MAX];

  // Puts the process id, the program's name and the number of the report into the pattern, and the
  // folder in which the process started before it. False if that is too long.
  bool name(const char* pattern, unsigned number);

  bool ends_with(const char* ending) const;

  // For a file that grows: its descriptor, -1 with errno. A file that was there is unlinked, not
  // emptied.
  int open_growing() const;
  // What it opened, to go on at its end.
  int open_again() const;

  // Words for the errno of what failed.
  const char* why(int error) const;
};

// For a file that is written at once. 12 KB: not for the stack, which in a small thread has no
// room.
struct ReportFile : ReportPath {
  // As `print` prints it. What goes wrong is told in one line, in which it is called `what`; then
  // false.
  bool write(const char* what, void (*print)(Writer& out));

  char temporary[PATH_MAX + 32];  // the name that it has until it is whole
  char buffer[4096];              // for whoever writes
};

}  // namespace pktmalloc
