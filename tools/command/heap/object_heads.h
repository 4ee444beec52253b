// SPDX-License-Identifier: MIT
// ObjectHeads: the first words of all live objects of a heap, read many at once.
#pragma once

#include <cstdint>
#include <functional>

#include "tools/command/heap/remote_heap.h"

namespace pktmalloc {

struct ObjectHead {
  const RemoteHeap::Slab& slab;
  uint32_t object;  // its number in the slab
  uint64_t address;
  const char* bytes;
  uint32_t size;  // of what was read
};

// Reads at least so many bytes of each, as far as it has them, and calls visit(head). What cannot
// be read is zero.
void each_head(const RemoteHeap& heap, const RemoteMemory& memory, uint32_t least,
               const std::function<void(const ObjectHead&)>& visit);

}  // namespace pktmalloc
