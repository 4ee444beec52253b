// SPDX-License-Identifier: MIT
// Path pattern: what the library's options take for a path, in which %p, %e and %n stand for the
// process, its program and the number of the report, and %% for a percent sign. %c is nothing in
// the program of `pktmalloc run`, and ".PID" in the programs that it starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace pktmalloc {

// The pattern of just this path.
std::string as_pattern(std::string path);

// The paths that there are of a pattern: of this process, or of all if it is 0. Sorted.
std::vector<std::string> paths_of(const std::string& pattern, pid_t pid);

// Is there what is no regular file: a pipe, a device, a link?
bool names_no_file(const std::string& path);

// The same pattern with a %c before the ending, unless it tells processes apart or names what is no
// file: they would replace each other's.
std::string with_files_of_children(std::string pattern);

// The same pattern for a process with another folder.
std::string absolute_pattern(const std::string& pattern);

}  // namespace pktmalloc
