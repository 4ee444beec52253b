// SPDX-License-Identifier: MIT
// Blank: free memory begins with zeros, from the system as from here. So pointers in a freed object
// lead nowhere, and a write to it shows.
//
// A freed object's first 16 bytes are cleared at once; that is where lists and tables of functions
// are linked, and it brings the object's line to the processor. The rest follows when the object
// has waited (waiting.h) and the line is there: W4 untouched takes half the time so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/machine.h"
#include "sizeclass/slabs/class_table.h"

namespace pktmalloc::hardened {

// As many bytes of an object are looked at before it is handed out again: a line.
inline constexpr size_t kInspected = 64;

// By class: bytes that are cleared (PKTMALLOC_CLEAR), at least those that are inspected. A multiple
// of 16, as sizes of classes are.
inline constinit uint32_t cleared_bytes[kMaxClasses]{};

typedef long long Vector __attribute__((vector_size(16), may_alias));

inline void start_blank(const ClassTable& classes, size_t bytes) {
  const size_t most = std::max(kInspected, bytes / sizeof(Vector) * sizeof(Vector));
  for (const ClassId id : classes.ids()) {
    const size_t object_bytes = classes[id].object_bytes;
    cleared_bytes[index(id)] = static_cast<uint32_t>(std::min(object_bytes, most));
  }
}

inline void blank_head(void* p) { *static_cast<Vector*>(p) = Vector{}; }

inline bool is_head_blank(const void* p) {
  const Vector head = *static_cast<const Vector*>(p);
  return (head[0] | head[1]) == 0;
}

// What blank_head() left, up to kInspected of `bytes`, a multiple of 16. Most objects have a whole
// line; the loop must not become a call.
inline void blank_line(void* p, size_t bytes) {
  auto* const line = static_cast<Vector*>(p);
  if (bytes >= kInspected) {
    line[1] = line[2] = line[3] = Vector{};
    return;
  }
  for (size_t i = 1; i < bytes / sizeof(Vector); ++i) {
    line[i] = Vector{};
    asm volatile("" : : : "memory");
  }
}

// Up to kInspected of `bytes`, a multiple of 16 but not 0. Looks at the first word by writing it:
// if a page's first touch is a read, the system puts a page of zeros there, and the first write is
// a second fault, which interrupts the other processors. W4 untouched with two threads took 7,700
// faults instead of 5,100, and twice as long.
inline bool is_blank(void* p, size_t bytes) {
  auto* const words = static_cast<uint64_t*>(p);
  const bool head = machine::is_zero_for_writing(words) && words[1] == 0;
  if (bytes == sizeof(Vector)) return head;
  const auto* const line = static_cast<const Vector*>(p);
  Vector any = line[1];
  if (bytes >= kInspected) {
    any |= line[2] | line[3];
  } else {
    for (size_t i = 2; i < bytes / sizeof(Vector); ++i) any |= line[i];
  }
  return head && (any[0] | any[1]) == 0;
}

}  // namespace pktmalloc::hardened
