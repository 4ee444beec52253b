// SPDX-License-Identifier: MIT
// SampleTable: the live sampled objects, by address. Memory of its own.
//
// The caller's lock guards all but may_hold(), which needs none: every free of the next allocator's
// objects asks it, and few of them are samples.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/base/growing_array.h"
#include "preload/profile/sampler.h"

namespace pktmalloc {

class SampleTable {
 public:
  // False when the system refuses the memory.
  bool start(size_t most_bytes);

  // False when the table is full. The address must not be in it.
  bool put(const void* p, const Sample& sample);

  // False when that address is not there.
  bool take(const void* p, Sample& sample);

  // May it be in the table? Never wrong for the object's owner.
  bool may_hold(const void* p) const;

 private:
  // Element 0 is none.
  struct Entry {
    const void* address;
    Sample sample;
    uint32_t next;  // with the same bucket, or in the list of free ones
  };
  using Head = std::atomic<uint32_t>;

  static uint64_t hash(const void* p);
  Head& head(const void* p) const;
  void widen();

  GrowingArray<Entry> entries_;
  uint32_t free_ = 0;
  uint32_t live_ = 0;
  // Replaced as a whole, with the mask. An outgrown one stays mapped: someone may be reading it.
  struct Heads {
    unsigned bits;
    Head of[];
  };
  std::atomic<Heads*> heads_ = nullptr;
};

}  // namespace pktmalloc
