// SPDX-License-Identifier: MIT
// FileKind: what the library writes into files, told by what is in them. For a command that was
// given a file of another kind than it reads.
#pragma once

#include <memory>
#include <string>

#include "tools/command/failure.h"
#include "tools/command/system/output_file.h"

namespace pktmalloc {

enum class FileKind { kStatistics, kHeapProfile, kSizes, kTrace };

// To be thrown when the file is none of the wanted kind: names the command that reads what it is,
// or the variable that makes the library write what is wanted.
Failure wrong_kind(const std::string& path, FileKind wanted);

// Throws Failure where one of them stands: its name was taken for that of an output, which was
// forgotten.
void refuse_recording(const std::string& path);

// What a command makes of such files goes to the path, which none of them has; "": there is none.
std::unique_ptr<OutputFile> output_at(const std::string& path);

}  // namespace pktmalloc
