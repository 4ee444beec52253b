// SPDX-License-Identifier: MIT
// GrowingMemory: memory that grows in place from a fixed start.
//
// What lies behind it is not reserved: nothing is taken from a limit of addresses before it is
// needed. The start is chosen where addresses are free for a long way, and where the system puts
// other mappings last (memory::find_room). If one gets in the way all the same, it can
// grow no more. Whoever has it orders the calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/owned.h"

namespace pktmalloc {

class GrowingMemory {
 public:
  // It may grow to `most` bytes, and begins at a page; the first `bytes` are mapped. Without
  // `huge_pages` it never gets any.
  void start(uintptr_t begin, size_t most, bool huge_pages = true, size_t bytes = 0) {
    begin_ = begin;
    bytes_ = bytes;
    most_ = most;
    huge_pages_ = huge_pages;
  }

  // At least so many bytes are usable; new ones are zero. False when there are none, or the system
  // refuses; then nothing has changed.
  bool grow_to(size_t bytes) {
    bytes = round_up(bytes, memory::page_bytes());
    if (bytes <= bytes_) return true;
    if (bytes > most_ || !memory::map(at(bytes_), bytes - bytes_)) return false;
    if (!huge_pages_) memory::ask_for_huge_pages(at(bytes_), bytes - bytes_, false);
    bytes_ = bytes;
    return true;
  }

  // Gives back what lies behind the first `bytes`. Nothing may read there any more.
  void shrink_to(size_t bytes) {
    bytes = round_up(bytes, memory::page_bytes());
    if (bytes < bytes_ && memory::release(at(bytes), bytes_ - bytes)) bytes_ = bytes;
  }

  uintptr_t begin() const { return begin_; }
  const Owned<size_t>& bytes() const { return bytes_; }
  size_t most() const { return most_; }
  char* at(size_t offset) const { return reinterpret_cast<char*>(begin_ + offset); }

 private:
  uintptr_t begin_ = 0;
  Owned<size_t> bytes_ = 0;
  size_t most_ = 0;
  bool huge_pages_ = false;
};

}  // namespace pktmalloc
