// SPDX-License-Identifier: MIT
#include "preload/recording/sample_table.h"

namespace pktmalloc {

// Under the lock: no other thread changes it meanwhile.
void SampleTable::count(const void* p, int change) {
  std::atomic<uint32_t>& all = counts_[bucket(p)];
  all.store(all.load(std::memory_order_relaxed) + static_cast<uint32_t>(change),
            std::memory_order_relaxed);
}

bool SampleTable::put(const void* p, const Sample& sample) {
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

bool SampleTable::take(const void* p, Sample& sample) {
  Entry* const entry = live_.take(reinterpret_cast<uintptr_t>(p));
  if (entry == nullptr) return false;
  sample = entry->sample;
  entry->address = 0;
  entry->next = free_;
  free_ = entry;
  count(p, -1);
  return true;
}

}  // namespace pktmalloc
