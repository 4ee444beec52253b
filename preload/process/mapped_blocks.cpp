// SPDX-License-Identifier: MIT
// Mapped blocks: a mapping of the system for each block. They serve what no class does in a program
// that has no other allocator, because it was linked with -static.
//
// A block's head lies in front of it, so there is no table. Some freed mappings are kept for the
// next requests, because every new page costs a fault. Only forks wait for their lock; who else
// finds it taken does without them. So a fork handler may come here although the fork holds the
// lock, and a signal handler at any time.
//
// Each function is like the C function of that name. Any thread.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "preload/process/next_allocator.h"
#include "preload/process/process.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/misuse.h"
#include "sizeclass/base/mutex.h"

namespace pktmalloc {
namespace {

// No process has as many bytes, and a sum of two such numbers does not overflow.
constexpr size_t kTooMuch = PTRDIFF_MAX / 2;

// To clear so many bytes of a kept mapping takes no longer than to map them anew and to fault a few
// pages in; who asks for more may use it sparsely.
constexpr size_t kMostCleared = size_t{1} << 20;

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

constexpr uint64_t kLive = 0x9E3779B97F4A7C15;
constexpr uint64_t kFreed = ~kLive;

// For mallinfo2().
constinit std::atomic<size_t> live_blocks = 0;
constinit std::atomic<size_t> live_bytes = 0;

void* hand_out(const Mapping& mapping, size_t front) {
  const uintptr_t p = mapping.start + front;
  reinterpret_cast<Head*>(p)[-1] = {mapping.bytes, kLive ^ p ^ mapping.bytes};
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(mapping.bytes, std::memory_order_relaxed);
  return reinterpret_cast<void*>(p);
}

void take_back(const Mapping& mapping) {
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  live_bytes.fetch_sub(mapping.bytes, std::memory_order_relaxed);
}

// Ends the process if no block begins at p.
Head& head_of(void* pointer) {
  const uintptr_t p = reinterpret_cast<uintptr_t>(pointer);
  Head& head = static_cast<Head*>(pointer)[-1];
  const bool aligned = p % sizeof(Head) == 0;
  if (!aligned || head.seal != (kLive ^ p ^ head.bytes)) [[unlikely]] {
    const bool freed = aligned && head.seal == (kFreed ^ p ^ head.bytes);
    report_misuse(freed ? Misuse::kFreedAgain : Misuse::kNotAnObject, p, freed ? head.bytes : 0);
  }
  return head;
}

Mapping mapping_of(void* p) {
  const size_t page = memory::page_bytes();
  return {(reinterpret_cast<uintptr_t>(p) - 1) & ~(page - 1), head_of(p).bytes};
}

// Freed mappings, the oldest first.
constexpr unsigned kMostKept = 8;
constexpr size_t kMostKeptBytes = size_t{32} << 20;
constinit Mutex mutex{part_rank(PartId::mapped_blocks)};
constinit Mapping kept[kMostKept] GUARDED_BY(mutex){};
constinit unsigned kept_count GUARDED_BY(mutex) = 0;
constinit size_t kept_bytes GUARDED_BY(mutex) = 0;

// False: there is no room until some of the oldest are gone, or the lock is taken.
bool keep(const Mapping& mapping) {
  if (!mutex.try_lock()) return false;
  const bool fits = kept_count < kMostKept && kept_bytes + mapping.bytes <= kMostKeptBytes;
  if (fits) {
    kept[kept_count++] = mapping;
    kept_bytes += mapping.bytes;
  }
  mutex.unlock();
  return fits;
}

// The latest with as many bytes and at most a quarter more, or the oldest; empty if there is none,
// or the lock is taken.
Mapping take_kept(size_t bytes = 0) {
  const auto fits = [=](size_t has) { return has >= bytes && has - bytes <= bytes / 4; };
  if (!mutex.try_lock()) return {};
  unsigned i = bytes != 0 ? kept_count : std::min(kept_count, 1U);
  while (bytes != 0 && i > 0 && !fits(kept[i - 1].bytes)) --i;
  Mapping taken;
  if (i > 0) {
    taken = kept[i - 1];
    std::copy(kept + i, kept + kept_count--, kept + i - 1);
    kept_bytes -= taken.bytes;
  }
  mutex.unlock();
  return taken;
}

// Where the system refuses, because the process has too many mappings, the memory at least goes.
void unmap(uintptr_t start, size_t bytes) {
  if (bytes == 0 || memory::in_strict_mode) return;
  void* const p = reinterpret_cast<void*>(start);
  if (!memory::release(p, bytes)) memory::purge(p, bytes);
}

bool unmap_oldest() {
  const Mapping oldest = take_kept();
  unmap(oldest.start, oldest.bytes);
  return oldest.bytes != 0;
}

int malloc_trim(size_t) {
  bool any = false;
  while (unmap_oldest()) any = true;
  return any ? 1 : 0;
}

// What `call`, mmap or mremap, returns; tried again without what is kept. 0: refused.
template <typename Call>
uintptr_t ask_system(const Call& call) {
  if (memory::in_strict_mode) return 0;
  const KeepErrno keep_errno;
  void* p = call();
  if (p == MAP_FAILED && malloc_trim(0) != 0) p = call();
  return p != MAP_FAILED ? reinterpret_cast<uintptr_t>(p) : 0;
}

// A fresh mapping in which what lies `front` bytes behind the start is aligned.
Mapping map(size_t bytes, size_t front, size_t alignment) {
  const size_t page = memory::page_bytes(), spare = alignment > page ? alignment - page : 0;
  const uintptr_t raw = ask_system([=] {
    return mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  });
  if (raw == 0) return {};
  const uintptr_t start = round_up(raw + front, alignment) - front;
  unmap(raw, start - raw);
  unmap(start + bytes, raw + spare - start);
  return {start, bytes};
}

void* allocate(size_t alignment, size_t bytes, bool clears = false) {
  if (std::max(alignment, bytes) > kTooMuch) return no_memory();
  const size_t page = memory::page_bytes();
  alignment = std::max(alignment, sizeof(Head));
  const size_t front = std::min(alignment, page), all = round_up(front + bytes, page);
  Mapping mapping;
  if (alignment <= page && !(clears && all > kMostCleared)) mapping = take_kept(all);
  const bool fresh = mapping.bytes == 0;
  if (fresh) mapping = map(all, front, alignment);
  if (mapping.bytes == 0) return no_memory();
  void* const p = hand_out(mapping, front);
  return clears && !fresh ? memset(p, 0, bytes) : p;
}

void* malloc(size_t bytes) { return allocate(1, bytes); }

// The product must not overflow.
void* calloc(size_t count, size_t bytes) { return allocate(1, count * bytes, true); }

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
  const uintptr_t start = ask_system(
      [=] { return mremap(reinterpret_cast<void*>(old.start), old.bytes, all, MREMAP_MAYMOVE); });
  if (start != 0) {
    take_back(old);
    return hand_out({start, all}, front);
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
  head_of(p).seal ^= kLive ^ kFreed;
  take_back(mapping);
  for (bool fits = mapping.bytes <= kMostKeptBytes; fits; fits = unmap_oldest()) {
    if (keep(mapping)) return;
  }
  unmap(mapping.start, mapping.bytes);
}

size_t malloc_usable_size(void* p) {
  const Mapping mapping = mapping_of(p);
  return mapping.start + mapping.bytes - reinterpret_cast<uintptr_t>(p);
}

int mallopt(int, int) { return 1; }  // there is nothing to set

struct mallinfo2 mallinfo2() {
  struct mallinfo2 info {};
  info.hblks = live_blocks.load(std::memory_order_relaxed);
  info.hblkhd = live_bytes.load(std::memory_order_relaxed);
  return info;
}

}  // namespace

NextAllocator::Functions mapped_blocks() {
  return {malloc,      calloc,  posix_memalign, realloc, free, malloc_usable_size,
          malloc_trim, mallopt, mallinfo2};
}

constinit const Part mapped_blocks_part{.mutexes = {&mutex}};

}  // namespace pktmalloc
