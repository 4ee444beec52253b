// SPDX-License-Identifier: MIT
// Where the library's Window lies in a running process.
#pragma once

#include <cstdint>

#include "preload/formats/live_window.h"
#include "tools/command/system/image.h"

namespace pktmalloc {

struct WindowPlace {
  bool library;      // is mapped, or linked into the executable
  uint64_t address;  // of the Window; 0: the library has not started
};

// Looks into a mapped file libpktmalloc*.so, then into the executable, for the symbol
// pktmalloc_window. What is mapped may be another file than the one that has its name now, or
// stripped: only an address where the magic stands counts, and else the magic is searched for in
// the variables of that file.
// Throws Failure when the process is gone or may not be read.
WindowPlace find_window(const Image& image);

// Of the process that failures call by `name`. Throws Failure when it is of another schema or makes
// no sense.
Window load_window(const RemoteMemory& memory, uint64_t address, const std::string& name);

// Both. Throws Failure also where there is none.
Window find_and_load_window(const Image& image, uint64_t& address);

// Is a file libpktmalloc*.so mapped? False also when that cannot be known.
bool maps_library(const Process& process);

}  // namespace pktmalloc
