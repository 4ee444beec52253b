// SPDX-License-Identifier: MIT
// Allocators that a program brings along: built in, or linked with.
#pragma once

#include "tools/command/doctor/finding.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {

// Of an executable. Nothing found: no findings.
Findings examine_bundled_allocator(const ElfFile& executable);

// "jemalloc", "mimalloc" ... of a library's file name; "" when it is no allocator's, or ours.
std::string allocator_of_library(const std::string& path);

}  // namespace pktmalloc
