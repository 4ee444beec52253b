// SPDX-License-Identifier: MIT
#include "sizeclass/base/memory.h"

#include <linux/mman.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/machine.h"

namespace pktmalloc::memory {
namespace {

// New pages in the place of those that are there. False: these are as they were, or gone.
bool replace(void* start, size_t bytes, int more = 0, int protection = PROT_READ | PROT_WRITE) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  return mmap(start, bytes, protection, kFlags | more, -1, 0) == start;
}

bool is_free(uintptr_t page) {
  void* const there = reinterpret_cast<void*>(page);
  return map(there, page_bytes()) && release(there, page_bytes());
}

}  // namespace

size_t page_bytes() { return getauxval(AT_PAGESZ); }

bool release(void* start, size_t bytes) {
  const KeepErrno keep;
  return munmap(start, bytes) == 0;
}

bool map(void* start, size_t bytes) {
  if (in_strict_mode) return false;
  const KeepErrno keep;
  void* const p = mmap(start, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  // Linux before 4.17 treats the address as a hint.
  if (p != MAP_FAILED && p != start) munmap(p, bytes);
  return p == start;
}

// Systems put a new mapping next to the others, of which this code is one, and go on from there
// away from where it looks, or, with an unlimited stack, the other way. So the first bytes tell of
// the rest.
uintptr_t find_room(size_t bytes, size_t alignment, size_t mapped, size_t also) {
  constexpr size_t kFar = size_t{1} << 30, kTries = 16;
  const size_t step = round_up(bytes + std::max(bytes, kFar), alignment);
  // Downwards, then upwards: Valgrind's programs lie at low addresses.
  for (const size_t onwards : {-step, step}) {
    uintptr_t at = reinterpret_cast<uintptr_t>(&find_room) / alignment * alignment;
    for (size_t n = 0; n < kTries; ++n) {
      at += onwards;
      if (at == 0 || at >> machine::kAddressBits != 0) break;
      if (is_free(at + also) && map(reinterpret_cast<void*>(at), mapped)) return at;
    }
  }
  return 0;
}

bool commit(void* start, size_t bytes) {
  if (in_strict_mode) return false;
  const KeepErrno keep;
  return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool populate(void* start, size_t bytes) {
#ifndef MADV_POPULATE_WRITE
  constexpr int MADV_POPULATE_WRITE = 23;
#endif
  const KeepErrno keep;
  if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  // Linux before 5.14. Other threads may be writing there.
  char* const begin = static_cast<char*>(start);
  for (size_t at = 0; at < bytes; at += page_bytes()) {
    __atomic_fetch_add(begin + at, 0, __ATOMIC_RELAXED);
  }
  return true;
}

size_t huge_page_bytes() { return page_bytes() * (page_bytes() / sizeof(uint64_t)); }

void ask_for_huge_pages(void* start, size_t bytes, bool wanted) {
  const KeepErrno keep;  // a kernel may know none
  static_cast<void>(madvise(start, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

bool take_from_pool(void* start, size_t bytes) {
  const KeepErrno keep;
  const int size = std::countr_zero(huge_page_bytes()) << MAP_HUGE_SHIFT;
  if (replace(start, bytes, MAP_HUGETLB | size)) return true;
  // The pages that were there may be gone. Linux refuses new ones only for want of a mapping, and
  // these took none.
  replace(start, bytes);
  return false;
}

bool purge(void* start, size_t bytes) {
  if (in_strict_mode) return false;
  const KeepErrno keep;
  if (madvise(start, bytes, MADV_DONTNEED) != 0) return false;
  // The program may have mapped a file over its objects, or what it shares with others: then this
  // is refused, and new pages take their place. Linux before 4.5 refuses it always.
  return madvise(start, bytes, MADV_FREE) == 0 || replace(start, bytes);
}

// By pages without memory.
bool withdraw(void* start, size_t bytes, bool readable) {
  const KeepErrno keep;
  return replace(start, bytes, MAP_NORESERVE, readable ? PROT_READ : PROT_NONE);
}

bool is_mapped(const void* address) {
  if (in_strict_mode) return true;
  const KeepErrno keep;
  unsigned char page;
  const uintptr_t start = reinterpret_cast<uintptr_t>(address) & -page_bytes();
  return mincore(reinterpret_cast<void*>(start), 1, &page) == 0;
}

size_t resident_bytes(const void* start, size_t bytes) {
  const KeepErrno keep;
  unsigned char pages[1024];
  const size_t page = page_bytes();
  const char* at = static_cast<const char*>(start);
  size_t resident = 0;
  while (bytes > 0) {
    const size_t now = std::min(bytes, sizeof pages * page);
    if (mincore(const_cast<char*>(at), now, pages) == 0) {
      for (size_t i = 0; i < now / page; ++i) resident += (pages[i] & 1) != 0 ? page : 0;
    }
    at += now;
    bytes -= now;
  }
  return resident;
}

}  // namespace pktmalloc::memory
