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

bool ObjectStates::open(uintptr_t end, bool (*make_usable)(void*, size_t)) {
  constexpr size_t kStep = size_t{64} << 10;  // of words; a piece has no more, or a multiple
  const uintptr_t piece = (end - 1 - base_) >> piece_shift_ << piece_shift_;
  Area& area = areas_[(piece >> piece_shift_) % kMaxClasses];
  const uintptr_t step = std::min(kStep / sizeof(uint16_t) << area.shift, piece_bytes());
  const uintptr_t to = round_up(end - base_, step);
  for (;;) {
    const uintptr_t open = area.open.load(std::memory_order_relaxed);
    if (to <= open) return true;
    // What is left of the piece before comes first, though no slab fits there.
    const bool left = open < piece && open % piece_bytes() != 0;
    const uintptr_t begin = left ? open : std::max(open, piece);
    const uintptr_t stop = left ? round_up(open, piece_bytes()) : to;
    const size_t bytes = words_bytes(stop - begin, area.shift);
    if (!make_usable(reinterpret_cast<void*>(word(area, base_ + begin)), bytes)) return false;
    committed_.fetch_add(bytes, std::memory_order_relaxed);
    area.open.store(stop, std::memory_order_relaxed);
  }
}

}  // namespace pktmalloc
