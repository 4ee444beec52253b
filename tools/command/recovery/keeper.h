// SPDX-License-Identifier: MIT
// Keeper: the parent of a program whose reports are wanted whatever ends it. It hands on the
// signals that it gets, reads the program's counters from outside into its recording, and writes at
// the end what the program did not. Then it ends as the program did.
//
// The recordings lie in a folder of their own: the program's, and those of other programs with the
// library that it starts. What a program without the keeper left is for `pktmalloc recover`.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// Forks, and returns in the child, which is to become the program and has PKTMALLOC_RECORDING in
// its environment. `files`: patterns of the paths of all reports; the folder of the recordings is
// made beside the first one, if that is allowed and its path is known. At the end the keeper also
// names the files that other programs wrote, which nobody else does.
void keep(const std::vector<std::string>& files, bool reads_statistics);

// The recordings in a folder.
std::vector<std::string> recordings_in(const std::string& folder);

}  // namespace pktmalloc
