// SPDX-License-Identifier: MIT
// Reservation: address space of a test, given back at its end.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "preload/base/mapping.h"

namespace pktmalloc::test {

class Reservation {
 public:
  // Rounded up to pages.
  explicit Reservation(size_t bytes)
      : bytes_((bytes + memory::page_bytes() - 1) / memory::page_bytes() * memory::page_bytes()),
        start_(static_cast<char*>(map_lazily(bytes_, PROT_NONE))) {
    if (start_ == nullptr) abort();
  }
  ~Reservation() { memory::release(start_, bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  Reservation& commit() {
    if (!memory::commit(start_, bytes_)) abort();
    return *this;
  }
  char* start() const { return start_; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(start_); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  char* start_;
};

}  // namespace pktmalloc::test
