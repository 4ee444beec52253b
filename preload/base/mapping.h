// SPDX-License-Identifier: MIT
// Mapping: zeroed memory for tables, straight from the system; pages come at first touch.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc {

// So many bytes, but at most that part of what the process may have.
inline size_t at_most(size_t bytes, __rlimit_resource resource, size_t part = 32) {
  rlimit limit{};
  const bool limited = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? std::min<size_t>(bytes, limit.rlim_cur / part) : bytes;
}

// nullptr if the system refuses.
inline void* map_lazily(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// Reserves addresses: so many bytes, rounded up to steps, or fewer if the system refuses. `bytes`
// becomes what they are. nullptr: not even a step.
inline void* reserve_up_to(size_t& bytes, size_t step) {
  for (bytes = round_up(bytes, step); bytes > 0; bytes = bytes / 8 / step * step) {
    if (void* const start = memory::reserve(bytes)) return start;
  }
  return nullptr;
}

// A flag, true. In the child of any fork it reads as false, even before fork handlers run there or
// if none do; not in that of vfork, which shares our memory. nullptr if the system refuses.
inline bool* map_until_fork() {
  constexpr size_t kBytes = size_t{64} << 10;  // a page, whatever its size
  bool* const flag = static_cast<bool*>(map_lazily(kBytes));
  if (flag == nullptr) return nullptr;
  *flag = true;
  if (madvise(flag, kBytes, MADV_WIPEONFORK) == 0) return flag;
  munmap(flag, kBytes);
  return nullptr;
}

// A zeroed T, too large for the stack of a small thread, until the end of the scope. T needs no
// constructor and no destructor. False if the system refuses.
template <typename T>
class Mapped {
 public:
  Mapped() : object_(static_cast<T*>(map_lazily(sizeof(T)))) {}
  ~Mapped() {
    if (object_ != nullptr) munmap(object_, sizeof(T));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

}  // namespace pktmalloc
