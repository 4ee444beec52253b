// SPDX-License-Identifier: MIT
#include "sizeclass/object_states.h"

#include <algorithm>
#include <bit>

namespace pktmalloc {

unsigned ObjectStates::most_shift(unsigned piece_shift) {
  const unsigned words_in_page = std::countr_zero(memory::page_bytes() / sizeof(uint16_t));
  return std::max(kLeastShift, piece_shift - std::min(piece_shift, words_in_page));
}

size_t ObjectStates::bytes_for(size_t bytes, unsigned piece_shift) {
  size_t all = 0;
  for (unsigned shift = kLeastShift; shift <= most_shift(piece_shift); ++shift) {
    all += words_bytes(bytes, shift);
  }
  return all;
}

bool ObjectStates::reserve(uintptr_t base, size_t bytes, unsigned piece_shift,
                           const ClassTable& classes) {
  const size_t all = bytes_for(bytes, piece_shift);
  void* const start = memory::reserve(all, memory::page_bytes());
  if (start == nullptr) return false;
  base_ = base;
  pieces_ = bytes >> piece_shift;
  piece_shift_ = piece_shift;
  start_ = reinterpret_cast<uintptr_t>(start);
  bytes_ = all;
  const unsigned most = most_shift(piece_shift);
  uintptr_t region = start_;
  for (unsigned shift = kLeastShift; shift <= most; ++shift) {
    for (unsigned i = 0; i < classes.count(); ++i) {
      if (std::min<unsigned>(classes[static_cast<ClassId>(i)].granule_shift, most) != shift)
        continue;
      areas_[i].shift = shift;
      areas_[i].words = region - words_bytes(base, shift);
    }
    region += words_bytes(bytes, shift);
  }
  return true;
}

void ObjectStates::release() {
  if (exist()) memory::release(reinterpret_cast<void*>(start_), bytes_);
  bytes_ = 0;
}

bool ObjectStates::open(uintptr_t address, bool (*make_usable)(void*, size_t)) {
  const uintptr_t piece = (address - base_) >> piece_shift_;
  if (is_open(piece)) return true;  // at an attempt before, the slab's own memory was refused
  Area& area = areas_[piece % kMaxClasses];
  const size_t bytes = piece_bytes(area);
  void* const words = reinterpret_cast<void*>(word(area, base_ + (piece << piece_shift_)));
  if (!make_usable(words, bytes)) return false;
  committed_.fetch_add(bytes, std::memory_order_relaxed);
  area.open.store(piece + 1, std::memory_order_relaxed);
  return true;
}

}  // namespace pktmalloc
