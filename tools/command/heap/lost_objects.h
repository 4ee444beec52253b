// SPDX-License-Identifier: MIT
// LostObjects: the live objects, samples of a heap profile among them, that no root leads to, by
// way of others or at once.
//
// Any word that is an address in an object counts as pointing to it, whatever the program takes it
// for: nothing that it can still reach is called lost, unless it hides the address.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/command/heap/heap_copy.h"
#include "tools/command/heap/remote_heap.h"
#include "tools/command/heap/sampled_objects.h"

namespace pktmalloc {

// One that no other lost object points to; or of a circle the lowest one.
struct LostObject {
  const RemoteHeap::Slab* slab;  // nullptr: a sample
  uint32_t object;               // its number there
  uint64_t address;
  bool end_is_known = false;  // something points there, where another one begins or did
  uint64_t hanging_objects = 0, hanging_bytes = 0;  // lost with it; each once
};

std::vector<LostObject> find_lost(const RemoteHeap& heap, const HeapCopy& copy,
                                  const SampledObjects& sampled,
                                  const std::vector<uint64_t>& roots);

}  // namespace pktmalloc
