// SPDX-License-Identifier: MIT
// SampleTable: the live sampled objects, by address. Memory of its own.
//
// The caller's lock guards all but may_hold(), which needs none: every free of the next allocator's
// objects asks it, and few of them are samples.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/base/mapping.h"
#include "preload/base/word_table.h"
#include "preload/recording/sampler.h"

namespace pktmalloc {

class SampleTable {
 public:
  struct Entry {
    uintptr_t address;  // 0: none
    Sample sample;
    Entry* next;  // in the list of free ones
  };

  // False when the system refuses the memory.
  bool start(size_t most_bytes) { return entries_.start(most_bytes); }

  // False when the table is full. The address must not be in it.
  bool put(const void* p, const Sample& sample) {
    if (free_ == nullptr) free_ = entries_.add();
    if (free_ == nullptr) return false;
    Entry* const entry = free_;
    Entry* const next = entry->next;
    Entry* former = nullptr;
    *entry = {reinterpret_cast<uintptr_t>(p), sample, next};
    if (!live_.put(entry, former)) return false;
    free_ = next;
    count(p, 1);
    return true;
  }

  // False when that address is not there.
  bool take(const void* p, Sample& sample) {
    Entry* const entry = live_.take(reinterpret_cast<uintptr_t>(p));
    if (entry == nullptr) return false;
    sample = entry->sample;
    entry->address = 0;
    entry->next = free_;
    free_ = entry;
    count(p, -1);
    return true;
  }

  // May it be in the table? Never wrong for the object's owner.
  bool may_hold(const void* p) const {
    return counts_[bucket(p)].load(std::memory_order_relaxed) != 0;
  }

 private:
  static uintptr_t address_in(Entry* entry) { return entry->address; }
  using Entries = WordTable<Entry*, address_in>;

  static constexpr unsigned kBits = 18;
  static size_t bucket(const void* p) {
    return Entries::hash(reinterpret_cast<uintptr_t>(p)) >> (64 - kBits);
  }

  // Under the lock: no other thread changes it meanwhile.
  void count(const void* p, int change) {
    std::atomic<uint32_t>& all = counts_[bucket(p)];
    all.store(all.load(std::memory_order_relaxed) + static_cast<uint32_t>(change),
              std::memory_order_relaxed);
  }

  GrowingArray<Entry> entries_;  // in front: also read from outside
  Entry* free_ = nullptr;
  Entries live_;
  std::atomic<uint32_t> counts_[size_t{1} << kBits]{};  // of live ones, by hash
};

}  // namespace pktmalloc
