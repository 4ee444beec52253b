// SPDX-License-Identifier: MIT
// FileKind: what the library writes into files, told by what is in them. For a command that was
// given a file of another kind than it reads.
#pragma once

#include <string>

#include "tools/command/failure.h"

namespace pktmalloc {

enum class FileKind { kStatistics, kHeapProfile, kSizes, kTrace };

// To be thrown when the file is none of the wanted kind: names the command that reads what it is,
// or the variable that makes the library write what is wanted.
Failure wrong_kind(const std::string& path, FileKind wanted);

}  // namespace pktmalloc
