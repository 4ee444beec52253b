// SPDX-License-Identifier: MIT
// Census: how many live objects a process has, by class, by type and, of those that a heap profile
// samples, by the place that allocated them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/heap/place_calls.h"
#include "tools/command/heap/remote_heap.h"
#include "tools/command/heap/sampled_objects.h"
#include "tools/command/heap/type_names.h"

namespace pktmalloc {

struct Count {
  uint64_t object_bytes = 0;  // of the class
  std::string type;           // "": not known
  uint32_t place = 0;         // its number
  uint64_t objects = 0, bytes = 0;
  int64_t grown = 0, grown_bytes = 0;  // since the look before
  std::string example;                 // where its contents are shown
  Calls calls;                         // of the place
};

struct Census {
  std::vector<Count> classes;  // without type; those with live objects, by size
  std::vector<Count> types;    // by size and type
  std::vector<Count> places;   // by type and place, as the heap profile estimates
  uint64_t samples = 0;        // that it has for that

  uint64_t objects() const;
  uint64_t bytes() const;
};

// `contents`: objects of no known type are looked at, for text and zeroes; samples are not.
Census take_census(const RemoteHeap& heap, const SampledObjects& sampled,
                   const RemoteMemory& memory, TypeNames& types, bool contents);

// What there is now, with what it has grown since; also what is gone.
Census compared(const Census& before, Census now);

}  // namespace pktmalloc
