// SPDX-License-Identifier: MIT
// Symbol table: the function names in a module's file, including local ones, which the loader does
// not know. A stripped file has none; a file other than the one loaded (replaced since, or
// unreadable) is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

struct Module {
  const char* path;
  const void* header;  // its ELF header in memory
  uintptr_t bias;      // added by the loader to the addresses in the file
};

// The function at the address: its name, cut to fit, and where it begins; 0: unknown. Maps the file
// while it searches; allocates nothing.
uintptr_t find_in_file(const Module& module, uintptr_t address, char* name, size_t bytes);

}  // namespace pktmalloc
