// SPDX-License-Identifier: MIT
// The calls that a replay makes: real ones, and others of the same cost that do nothing.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "tools/command/replay/plan.h"

namespace pktmalloc {

inline constexpr uint64_t kPageBytes = 4096;

struct Real {
  static void* allocate(const Operation& o) {
    if (o.alignment_log2 < 4) return malloc(o.bytes);
    void* p = nullptr;
    return posix_memalign(&p, size_t{1} << o.alignment_log2, o.bytes) == 0 ? p : nullptr;
  }
  static void* allocate_zeroed(uint64_t bytes) { return calloc(1, bytes); }
  static void* reallocate(void* p, uint64_t bytes) { return realloc(p, bytes); }
  static void release(void* p) { free(p); }
  // What it has from byte `from` on.
  static void touch(void* p, uint64_t from, uint64_t bytes) {
    volatile char* const start = static_cast<char*>(p);
    const uint64_t first = (from + kPageBytes - 1) / kPageBytes * kPageBytes;
    for (uint64_t at = first; at < bytes; at += kPageBytes) start[at] = 1;
  }
};

// Calls of the same cost that do nothing: what is left is the player's own.
struct Nothing {
  __attribute__((noinline)) static void* allocate(const Operation&) {
    asm volatile("");
    return reinterpret_cast<void*>(kPageBytes);
  }
  __attribute__((noinline)) static void* allocate_zeroed(uint64_t) {
    asm volatile("");
    return reinterpret_cast<void*>(kPageBytes);
  }
  __attribute__((noinline)) static void* reallocate(void* p, uint64_t) {
    asm volatile("");
    return p;
  }
  __attribute__((noinline)) static void release(void*) { asm volatile(""); }
  static void touch(void*, uint64_t, uint64_t) {}
};

}  // namespace pktmalloc
