// SPDX-License-Identifier: MIT
// Roots: the words outside of a heap's slabs that may be addresses of its objects. They lie in
// registers, and in all memory that the process may write to but the library's own: variables of
// modules and threads, stacks as far as they are in use, whatever else it has mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/heap/remote_heap.h"
#include "tools/command/heap/sampled_objects.h"
#include "tools/command/system/image.h"
#include "tools/command/system/stop.h"

namespace pktmalloc {

// Of a process that stands still, or of a core file; without those within `sampled`. `page_map`:
// the file that tells which pages there are; "": all may be.
std::vector<uint64_t> find_roots(const RemoteHeap& heap, const SampledObjects& sampled,
                                 const RemoteMemory& memory, const std::vector<Mapping>& mappings,
                                 const std::vector<Registers>& registers,
                                 const std::string& page_map);

}  // namespace pktmalloc
