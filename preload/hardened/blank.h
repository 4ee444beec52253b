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

#include "sizeclass/class_id.h"

namespace pktmalloc::hardened {

// As many bytes of an object are looked at before it is handed out again: a line.
inline constexpr size_t kInspected = 64;

// By class: bytes that are cleared (PKTMALLOC_CLEAR), at least those that are inspected. A multiple
// of 16, as sizes of classes are.
extern constinit uint32_t cleared_bytes[kMaxClasses] __attribute__((visibility("hidden")));
void start_blank(size_t bytes);

typedef long long Vector __attribute__((vector_size(16), may_alias));

inline void blank_head(void* p) { *static_cast<Vector*>(p) = Vector{}; }

inline bool is_head_blank(const void* p) {
  const Vector head = *static_cast<const Vector*>(p);
  return (head[0] | head[1]) == 0;
}

// Up to kInspected bytes, a multiple of 16; a loop that must not become a call.
inline void blank_line(void* p, size_t bytes) {
  for (size_t at = sizeof(Vector); at < bytes; at += sizeof(Vector)) {
    *reinterpret_cast<Vector*>(static_cast<char*>(p) + at) = Vector{};
    asm volatile("" : : : "memory");
  }
}

inline bool is_blank(const void* p, size_t bytes) {
  Vector any{};
  for (size_t at = 0; at < bytes; at += sizeof(Vector)) {
    any |= *reinterpret_cast<const Vector*>(static_cast<const char*>(p) + at);
  }
  return (any[0] | any[1]) == 0;
}

}  // namespace pktmalloc::hardened
