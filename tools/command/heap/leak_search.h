// SPDX-License-Identifier: MIT
// LeakSearch: a look at a process and what it tells of lost objects.
#pragma once

#include <cstdint>
#include <string>

#include "tools/command/heap/leak_report.h"
#include "tools/command/heap/subject.h"

namespace pktmalloc {

struct LeakSearch {
  Look look;
  uint64_t objects = 0, bytes = 0;  // live
  LeakReport report;

  // Throws Failure when the process cannot be looked at. `contents`: examples are shown. `waits`:
  // the process has nothing else to do.
  LeakSearch(const Subject& subject, bool contents, bool waits);
};

// "app, process 17503: 88 live objects, 87.9 KiB"
std::string head_text(const Subject& subject, uint64_t objects, uint64_t bytes);

}  // namespace pktmalloc
