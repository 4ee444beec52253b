// SPDX-License-Identifier: MIT
// TableFit: what a class table makes of a recording, as the engine's own class table says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sizeclass/slabs/class_table.h"
#include "tools/command/tune/size_recording.h"

namespace pktmalloc {

struct ClassFit {
  uint64_t bytes = 0;  // of an object
  uint64_t calls = 0;
  uint64_t objects = 0;                // live at the peak
  uint64_t requested = 0;              // bytes of these
  uint64_t page_bytes = 0;             // of the pages that these need
  uint64_t threads = 0;                // the most that used one of its sizes
  uint64_t smallest = 0, largest = 0;  // requests that it serves

  uint64_t lost() const { return objects * bytes - requested; }
};

struct TableFit {
  std::vector<ClassFit> classes;   // ascending by bytes
  std::vector<uint64_t> class_of;  // bytes for each of the recording's sizes; 0: passed on
  uint64_t requested = 0;          // bytes at the peak that classes serve
  uint64_t lost = 0;               // bytes at the peak
  uint64_t page_bytes = 0;
  uint64_t passed_calls = 0, passed_objects = 0, passed_bytes = 0;  // the next allocator's
};

// Bytes of the pages that so many objects need when they lie as the engine lays them out, slab
// after slab. What lies behind a slab's last object is memory up to the end of that page.
uint64_t page_bytes(const SizeClass& geometry, uint64_t objects);

TableFit fit(const ClassTable& table, const SizeRecording& recording);

}  // namespace pktmalloc
