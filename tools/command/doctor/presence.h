// SPDX-License-Identifier: MIT
// Presence: where pktmalloc is in a running process, and what its window shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "preload/formats/live_window.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

struct Presence {
  std::string path;        // of the library, or of the program that it is linked into
  bool linked = false;     // into the program
  bool replaced = false;   // the file, since the process started
  std::string unreadable;  // why the process's memory cannot be read; empty: it can
  Window window{};         // magic 0: the library has not started
  uint64_t allocated = 0;  // objects handed out since start
  unsigned classes = 0;    // of those objects
};

// Nothing when the library is not in the process. Throws Failure as Process does, and where it
// cannot be known.
std::optional<Presence> find_presence(const Process& process);

}  // namespace pktmalloc
