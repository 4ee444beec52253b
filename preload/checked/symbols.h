// SPDX-License-Identifier: MIT
// Symbols: names for return addresses, as far as the loader knows them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pktmalloc::checked {

enum class Detail : uint8_t { kNames, kOffsets };

// "main of app", or "app+0x11c5" where no name is known; with offsets "main+0x2a (app+0x11c5)".
void describe(uintptr_t pc, Detail detail, char* out, size_t bytes);

// The name of the function that the return address lies in; "" if none is known.
const char* function_of(uintptr_t pc);

bool in_this_library(uintptr_t pc);

// Why p cannot be of any heap ("on the stack"), or nullptr if it may be. Looks at the modules and
// at /proc/self/maps.
const char* why_no_heap(const void* p, char* buffer, size_t bytes);

}  // namespace pktmalloc::checked
