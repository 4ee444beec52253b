// SPDX-License-Identifier: MIT
#include "preload/process/passed_memory.h"

#include <algorithm>
#include <atomic>

#include "preload/process/heap.h"

namespace pktmalloc {
namespace {

constinit std::atomic<uint64_t> free_bytes = 0;

// A trim walks over all free blocks: at most one for each 64th of what is in use.
constexpr uint64_t kTrimLeast = uint64_t{1} << 20;
constexpr uint64_t kTrimPart = 64;

// As much of it as there is.
uint64_t reuse(uint64_t bytes) {
  uint64_t free = free_bytes.load(std::memory_order_relaxed);
  while (!free_bytes.compare_exchange_weak(free, free - std::min(free, bytes),
                                           std::memory_order_relaxed)) {
  }
  return std::min(free, bytes);
}

}  // namespace

bool take_passed(size_t bytes) {
  const uint64_t reused = reuse(bytes);
  if (heap.limit().take(bytes - reused)) return true;
  release_passed(reused);
  return false;
}

void settle_passed(size_t taken, size_t got) {
  if (got > taken) {
    heap.limit().add(got - taken - reuse(got - taken));
  } else {
    release_passed(taken - got);
  }
}

void release_passed(size_t bytes) { free_bytes.fetch_add(bytes, std::memory_order_relaxed); }

void give_passed() {
  if (heap.limit().is_limited()) {
    heap.limit().give(free_bytes.exchange(0, std::memory_order_relaxed));
  }
}

bool should_trim_passed() {
  const MemoryLimit& limit = heap.limit();
  return limit.is_tight() && free_bytes.load(std::memory_order_relaxed) >
                                 std::max(kTrimLeast, limit.used() / kTrimPart);
}

}  // namespace pktmalloc
