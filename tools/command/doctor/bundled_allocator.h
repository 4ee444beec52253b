// SPDX-License-Identifier: MIT
// Allocators that a program brings along: built in, or linked with.
#pragma once

#include "tools/command/doctor/finding.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {

// Of an executable. Nothing found: no findings.
Findings examine_bundled_allocator(const ElfFile& executable);

// Of a library that a running process has loaded, from this path: another allocator, or one that
// has an allocator built in.
Findings examine_library_allocator(const std::string& path, const ElfFile& library);

// "jemalloc", "mimalloc" ... of a library's file name; "" when it is no allocator's, or ours.
std::string allocator_of_library(const std::string& path);

}  // namespace pktmalloc
