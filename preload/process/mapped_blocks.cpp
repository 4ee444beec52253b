// SPDX-License-Identifier: MIT
// Mapped blocks: a mapping of the system for each block. They serve what the heap does not in a
// program that has no other allocator, because it was linked with -static.
//
// A block's head lies in front of it, so there is no table and no lock.
//
// Each function is like the C function of that name. Any thread.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "preload/process/next_allocator.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/misuse.h"

namespace pktmalloc {
namespace {

// No process has as many bytes, and a sum of two such numbers does not overflow.
constexpr size_t kTooMuch = PTRDIFF_MAX / 2;

struct Mapping {
  uintptr_t start = 0;
  size_t bytes = 0;  // whole pages
};

// In front of the block, which begins in the mapping's first page or where that ends.
struct Head {
  size_t bytes;  // of the mapping
  uint64_t seal;
};
static_assert(sizeof(Head) % alignof(max_align_t) == 0);

constexpr uint64_t kSeal = 0x9E3779B97F4A7C15;

// For mallinfo2().
constinit std::atomic<size_t> live_blocks = 0;
constinit std::atomic<size_t> live_bytes = 0;

void* hand_out(const Mapping& mapping, size_t front) {
  const uintptr_t p = mapping.start + front;
  reinterpret_cast<Head*>(p)[-1] = {mapping.bytes, kSeal ^ p ^ mapping.bytes};
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(mapping.bytes, std::memory_order_relaxed);
  return reinterpret_cast<void*>(p);
}

void take_back(const Mapping& mapping) {
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  live_bytes.fetch_sub(mapping.bytes, std::memory_order_relaxed);
}

// Ends the process if no block begins at p.
const Head& head_of(const void* pointer) {
  const uintptr_t p = reinterpret_cast<uintptr_t>(pointer);
  const Head& head = static_cast<const Head*>(pointer)[-1];
  if (p % sizeof(Head) != 0 || head.seal != (kSeal ^ p ^ head.bytes)) [[unlikely]]
    report_misuse(Misuse::kNotAnObject, p, 0);
  return head;
}

Mapping mapping_of(void* p) {
  const size_t page = memory::page_bytes();
  return {(reinterpret_cast<uintptr_t>(p) - 1) & ~(page - 1), head_of(p).bytes};
}

// Where the system refuses, because the process has too many mappings, the memory at least goes.
void unmap(uintptr_t start, size_t bytes) {
  if (bytes == 0 || memory::in_strict_mode) return;
  void* const p = reinterpret_cast<void*>(start);
  if (!memory::release(p, bytes)) memory::purge(p, bytes);
}

// A fresh mapping in which what lies `front` bytes behind the start is aligned.
Mapping map(size_t bytes, size_t front, size_t alignment) {
  const size_t page = memory::page_bytes(), spare = alignment > page ? alignment - page : 0;
  if (memory::in_strict_mode) return {};
  void* const p =
      mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return {};
  const uintptr_t raw = reinterpret_cast<uintptr_t>(p);
  const uintptr_t start = round_up(raw + front, alignment) - front;
  unmap(raw, start - raw);
  unmap(start + bytes, raw + spare - start);
  return {start, bytes};
}

void* allocate(size_t alignment, size_t bytes) {
  if (std::max(alignment, bytes) > kTooMuch) return no_memory();
  const size_t page = memory::page_bytes();
  alignment = std::max(alignment, sizeof(Head));
  const size_t front = std::min(alignment, page), all = round_up(front + bytes, page);
  const Mapping mapping = map(all, front, alignment);
  return mapping.bytes != 0 ? hand_out(mapping, front) : no_memory();
}

void* malloc(size_t bytes) { return allocate(1, bytes); }

// The product must not overflow.
void* calloc(size_t count, size_t bytes) { return allocate(1, count * bytes); }

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = allocate(alignment, bytes);
  return *out != nullptr ? 0 : ENOMEM;
}

void* realloc(void* p, size_t bytes) {
  const Mapping old = mapping_of(p);
  const size_t front = reinterpret_cast<uintptr_t>(p) - old.start;
  if (bytes > kTooMuch) return no_memory();
  const size_t all = round_up(front + bytes, memory::page_bytes());
  if (all == old.bytes) return p;
  void* const start = memory::in_strict_mode ? MAP_FAILED
                                             : mremap(reinterpret_cast<void*>(old.start), old.bytes,
                                                      all, MREMAP_MAYMOVE);
  if (start != MAP_FAILED) {
    take_back(old);
    return hand_out({reinterpret_cast<uintptr_t>(start), all}, front);
  }
  if (all < old.bytes) return p;
  // Also refused where the program has locked, protected or advised a part of the block.
  void* const moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, old.bytes - front);
  free(p);
  return moved;
}

void free(void* p) {
  const Mapping mapping = mapping_of(p);
  take_back(mapping);
  unmap(mapping.start, mapping.bytes);
}

size_t malloc_usable_size(void* p) {
  const Mapping mapping = mapping_of(p);
  return mapping.start + mapping.bytes - reinterpret_cast<uintptr_t>(p);
}

struct mallinfo2 mallinfo2() {
  struct mallinfo2 info {};
  info.hblks = live_blocks.load(std::memory_order_relaxed);
  info.hblkhd = live_bytes.load(std::memory_order_relaxed);
  return info;
}

}  // namespace

NextAllocator::Functions mapped_blocks() {
  NextAllocator::Functions all{malloc, calloc, posix_memalign, realloc, free, malloc_usable_size};
  all.mallinfo2 = mallinfo2;
  return all;
}

}  // namespace pktmalloc
