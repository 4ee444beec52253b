// SPDX-License-Identifier: MIT
// HeapCopy: what is in the slabs of another process's heap, at one moment.
#pragma once

#include <cstdint>

#include "tools/command/heap/remote_heap.h"

namespace pktmalloc {

class HeapCopy : public RemoteMemory {
 public:
  // Of a heap that was copied. Throws Failure when there is no memory.
  HeapCopy(const RemoteHeap& heap, const RemoteMemory& memory);
  ~HeapCopy() override;
  HeapCopy(const HeapCopy&) = delete;
  HeapCopy& operator=(const HeapCopy&) = delete;

  size_t copy(std::span<const Piece> pieces) const override;
  // Of an address in a slab.
  const uint64_t* words_at(uint64_t address) const {
    return reinterpret_cast<const uint64_t*>(bytes_ + (address - units_.begin));
  }

 private:
  RemoteHeap::Range units_;
  char* bytes_;
};

}  // namespace pktmalloc
