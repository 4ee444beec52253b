// SPDX-License-Identifier: MIT
// Parcel: an object that carries its address, its owner and a checksum over all its bytes, so that
// one handed out twice, purged or overwritten while live is seen by whoever opens it.
#pragma once

#include <cstdint>
#include <cstring>

#include "sizeclass/heap/heap.h"

namespace pktmalloc::test {

struct Parcel {
  const Parcel* self;
  uint32_t owner;
  uint32_t bytes;
  uint64_t serial;
  uint64_t checksum;

  static Parcel* pack(void* memory, uint32_t bytes, uint32_t owner, uint64_t serial) {
    auto* parcel = static_cast<Parcel*>(memory);
    memset(memory, static_cast<int>(serial + owner), bytes);
    parcel->self = parcel;
    parcel->owner = owner;
    parcel->bytes = bytes;
    parcel->serial = serial;
    parcel->checksum = parcel->sum();
    return parcel;
  }
  bool intact() const { return self == this && checksum == sum(); }

 private:
  uint64_t sum() const {
    uint64_t hash = reinterpret_cast<uintptr_t>(self) ^ serial ^ uint64_t { owner } << 32;
    const auto* at = reinterpret_cast<const char*>(this) + sizeof(Parcel);
    for (uint32_t n = sizeof(Parcel); n + 8 <= bytes; n += 8, at += 8) {
      uint64_t word;
      memcpy(&word, at, 8);
      hash = (hash ^ word) * 0x100000001b3;
    }
    return hash;
  }
};

// nullptr when the class refuses.
inline Parcel* pack(Heap& heap, Cache* cache, ClassId id, uint32_t owner, uint64_t serial) {
  void* memory = heap.allocate(cache, id);
  if (memory == nullptr) return nullptr;
  return Parcel::pack(memory, heap.classes()[id].object_bytes, owner, serial);
}

// False when the content is not what was packed.
inline bool unpack(Heap& heap, Cache* cache, Parcel* parcel) {
  const bool right = parcel->intact();
  parcel->self = nullptr;
  heap.release(cache, heap.class_of(parcel), parcel);
  return right;
}

}  // namespace pktmalloc::test
