// SPDX-License-Identifier: MIT
#include "sizeclass/object_states.h"

namespace pktmalloc {

bool ObjectStates::reserve(uintptr_t base, size_t bytes, unsigned piece_shift) {
  void* const start = memory::reserve(bytes_for(bytes), memory::page_bytes());
  if (start == nullptr) return false;
  base_ = base;
  piece_shift_ = piece_shift;
  start_ = reinterpret_cast<uintptr_t>(start);
  bytes_ = bytes_for(bytes);
  return true;
}

void ObjectStates::release() {
  if (exist()) memory::release(reinterpret_cast<void*>(start_), bytes_);
  bytes_ = 0;
}

bool ObjectStates::open(uintptr_t address, unsigned granule_shift,
                        bool (*make_usable)(void*, size_t)) {
  const uintptr_t piece = (address - base_) >> piece_shift_;
  const size_t bytes = open_bytes(granule_shift);
  if (is_open(piece)) return true;  // at an attempt before, the slab's own memory was refused
  if (!make_usable(reinterpret_cast<void*>(start_ + piece * piece_bytes()), bytes)) return false;
  committed_.fetch_add(bytes, std::memory_order_relaxed);
  open_[piece % kMaxClasses].store(piece + 1, std::memory_order_relaxed);
  return true;
}

}  // namespace pktmalloc
