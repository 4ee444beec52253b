// SPDX-License-Identifier: MIT
// Keeper: the parent of a program whose reports are wanted whatever ends it, or which is looked
// at when it exits. It hands on the signals that it gets, stops and goes on with the program, reads
// its counters from outside into its recording, and writes at the end what the program did not.
// Then it ends as the program did.
//
// The recordings lie in a folder of their own: the program's, and those of other programs with the
// library that it starts. What a program without the keeper left is for `pktmalloc recover`.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "tools/command/reading.h"

namespace pktmalloc {

struct Keeping {
  bool records = false;  // there are reports
  // Patterns of the paths of all reports. The folder of the recordings is made beside the first
  // one, if that is allowed and its path is known. At the end the keeper names the files that other
  // programs wrote, which nobody else does.
  std::vector<std::string> files;
  bool reads_statistics = false;
  std::string untold;  // folder of files that nobody is told of
  // In the process that stays, once the program is there; once it has ended, with its wait status.
  std::function<void()> at_start;
  std::function<void(pid_t child, int status)> at_exit;
  // For each time that the program's statistics are read.
  std::function<void(const Reading&)> at_reading;
  // Called when all is written, with what was read meanwhile: 256 to 512 readings if it took long.
  std::function<void(pid_t child, std::vector<Reading> readings)> at_end;
};

// Forks, and returns in the child, which is to become the program and has PKTMALLOC_RECORDING in
// its environment if there are reports.
void keep(const Keeping& keeping);

// The recordings in a folder.
std::vector<std::string> recordings_in(const std::string& folder);

}  // namespace pktmalloc
