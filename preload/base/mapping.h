// SPDX-License-Identifier: MIT
// Mapping: zeroed memory for tables, straight from the system; pages come at first touch.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace pktmalloc {

// nullptr if the system refuses.
inline void* map_lazily(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
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
