// SPDX-License-Identifier: MIT
// Census: how many live objects a process has, by class and by type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/heap/remote_heap.h"
#include "tools/command/heap/sampled_objects.h"
#include "tools/command/heap/type_names.h"

namespace pktmalloc {

struct Count {
  uint64_t object_bytes;  // of the class
  std::string type;       // "": not known
  uint64_t objects;
  int64_t grown = 0;    // objects more than at the look before
  std::string example;  // where its contents are shown

  uint64_t bytes() const { return objects * object_bytes; }
  int64_t grown_bytes() const { return grown * static_cast<int64_t>(object_bytes); }
};

struct Census {
  std::vector<Count> classes;  // without type; those with live objects, by size
  std::vector<Count> types;    // by size and type

  uint64_t objects() const;
  uint64_t bytes() const;
};

// `contents`: objects of no known type are looked at, for text and zeroes; samples are not.
Census take_census(RemoteHeap& heap, const SampledObjects& sampled, const RemoteMemory& memory,
                   TypeNames& types, LibraryKind kind, bool contents);

// What there is now, with what it has grown since; also what is gone.
Census compared(const Census& before, const Census& now);

}  // namespace pktmalloc
