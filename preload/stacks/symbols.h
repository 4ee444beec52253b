// SPDX-License-Identifier: MIT
// Symbols: names for return addresses, from the loader or else from the module's file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/formats/writer.h"

// Set by the linker: where this library begins and ends, or the program that it is linked into.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;

namespace pktmalloc {

// The function of the C++ runtime that the process has anyway, by which names are as in the source;
// nullptr: there is none.
//
// The runtime allocates and needs 128 KiB of stack. So it is asked only where both may be had; else
// a name is the linker's (for c++filt).
using Demangler = char* (*)(const char* name, char*, size_t*, int*);
Demangler find_demangler();

enum class Detail : uint8_t { kNames, kOffsets };

// "main of app", or "app+0x11c5" if no name is known; with offsets "main+0x2a (/bin/app+0x11c5)",
// or "unnamed (/bin/app+0x11c5)" if the function has none: the file is stripped.
// `demangler` may be nullptr.
void describe(Writer& out, uintptr_t pc, Detail detail, Demangler demangler);

struct Function {
  char name[1024] = "";          // as the linker knows it
  uintptr_t begin = 0;           // 0: no name is known
  const char* module = nullptr;  // nullptr: in none
  const char* path = "";         // the module's; "": the program
  uintptr_t module_begin = 0;
};

// The function that holds the return address.
Function function_at(uintptr_t pc);

inline bool in_this_module(uintptr_t address) {
  const auto begin = reinterpret_cast<uintptr_t>(&__ehdr_start);
  return address - begin < reinterpret_cast<uintptr_t>(&_end) - begin;
}
bool in_this_library(uintptr_t pc);

// Why p cannot belong to any heap ("on the stack"), or nullptr if it may. Looks at the modules and
// at /proc/self/maps.
const char* why_no_heap(const void* p, char* buffer, size_t bytes);

}  // namespace pktmalloc
