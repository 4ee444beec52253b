// SPDX-License-Identifier: MIT
// What can be told of a program before it runs: does a preloaded malloc reach it?
#pragma once

#include <string>

#include "tools/command/doctor/finding.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/library.h"

namespace pktmalloc {

// The program file that would be loaded, or is, by a process with this environment; privileges are
// those of this process. A kProblem means that preloading `library` cannot take effect, or breaks
// the program. `name`: what the program is called. Throws Failure when the file cannot be read.
Findings examine_executable(const std::string& file, const std::string& name,
                            const Library& library, const Environment& environment);

// The same for what is in the program, without whether a preload reaches it.
Findings examine_contents(const ElfFile& program, const std::string& name,
                          const Environment& environment);

// Is libpktmalloc.a linked into it? It then serves, before anything that is preloaded.
bool holds_archive(const std::string& file);

}  // namespace pktmalloc
