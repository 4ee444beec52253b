// SPDX-License-Identifier: MIT
// Language runtimes and known programs that use malloc in a way of their own.
#pragma once

#include <string>

#include "tools/command/doctor/finding.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/environment.h"

namespace pktmalloc {

// By the program's name, what it is linked with and how it was made; options of runtimes by the
// environment that it has.
Findings examine_runtime(const ElfFile& executable, const std::string& name,
                         const Environment& environment);

}  // namespace pktmalloc
