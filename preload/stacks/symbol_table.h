// SPDX-License-Identifier: MIT
// Symbol table: the names that a module's file has for its functions, the local ones among them,
// which the loader does not know. A stripped file has none; a file that is not the one the module
// was loaded from (replaced since, or not to be read) is not believed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc {

struct Module {
  const char* path;
  const void* header;  // its ELF header in memory
  uintptr_t bias;      // what the loader added to the addresses in the file
};

// The function that the address lies in: its name, cut to fit, and where it begins; 0: none is
// known. Maps the file for as long as it searches; allocates nothing.
uintptr_t find_in_file(const Module& module, uintptr_t address, char* name, size_t bytes);

}  // namespace pktmalloc
