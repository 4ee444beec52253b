// SPDX-License-Identifier: MIT
// Symbol table: the function names in a module's file, including local ones, which the loader does
// not know. A stripped file has none; a file other than the one loaded (replaced since, or
// unreadable) is not trusted.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// The function at the address in a module, whose ELF header in memory is known: its name, cut to
// fit, and where it begins; 0: unknown. Maps the file while it searches; allocates nothing.
uintptr_t find_in_file(const link_map& module, const void* header, uintptr_t address, char* name,
                       size_t bytes);

}  // namespace pktmalloc
