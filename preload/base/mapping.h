// SPDX-License-Identifier: MIT
// Mapping: zeroed memory for tables, straight from the system; pages come at first touch.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {

// So many bytes, but at most that part of what the process may have.
inline size_t at_most(size_t bytes, __rlimit_resource resource, size_t part = 32) {
  rlimit limit{};
  const bool limited = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? std::min<size_t>(bytes, limit.rlim_cur / part) : bytes;
}

// nullptr if the system refuses. With PROT_NONE it takes addresses alone. Keeps errno.
inline void* map_lazily(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  const KeepErrno keep;
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// Reserves addresses: so many bytes, rounded up to steps, or fewer if the system refuses. `bytes`
// becomes what they are. nullptr: not even a step.
inline void* reserve_up_to(size_t& bytes, size_t step) {
  for (bytes = round_up(bytes, step); bytes > 0; bytes = bytes / 8 / step * step) {
    if (void* const start = map_lazily(bytes, PROT_NONE)) return start;
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
  Mapped(Mapped&&) = delete;

  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

// Elements that never move, numbered from 0, in their own address space; it adds zeroed memory as
// it grows. Not synchronised. T needs no constructor and no destructor.
template <typename T>
class GrowingArray {
 public:
  // Takes less address space than asked for if the system refuses more; false if it gets none.
  bool start(size_t most_bytes) {
    reserved_bytes_ = most_bytes;
    elements_ = static_cast<T*>(reserve_up_to(reserved_bytes_, kStep));
    return elements_ != nullptr;
  }

  // Another element, whose number is size() before the call; nullptr when there is no memory for
  // it.
  T* add() {
    const size_t end = (size_ + 1) * sizeof(T);
    if (end > committed_bytes_) {
      if (committed_bytes_ == reserved_bytes_ ||
          !memory::commit(reinterpret_cast<char*>(elements_) + committed_bytes_, kStep)) {
        return nullptr;
      }
      committed_bytes_ += kStep;
    }
    return &elements_[size_++];
  }

  uint32_t size() const { return static_cast<uint32_t>(size_); }
  T& operator[](uint32_t i) { return elements_[i]; }

 private:
  static constexpr size_t kStep = size_t{1} << 20;
  static_assert(sizeof(T) <= kStep);

  T* elements_ = nullptr;  // in front, with size_: also read from outside (formats/live_window.h)
  size_t size_ = 0, committed_bytes_ = 0, reserved_bytes_ = 0;
};

}  // namespace pktmalloc
