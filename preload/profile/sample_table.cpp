// SPDX-License-Identifier: MIT
#include "preload/profile/sample_table.h"

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

constexpr unsigned kFirstBits = 16;
constexpr unsigned kLastBits = 28;

}  // namespace

uint64_t SampleTable::hash(const void* p) {
  const uint64_t x = reinterpret_cast<uint64_t>(p) * 0x9E3779B97F4A7C15;
  return x ^ (x >> 29);
}

SampleTable::Head& SampleTable::head(const void* p) const {
  Heads* const heads = heads_.load(std::memory_order_acquire);  // pairs with widen()
  return heads->of[hash(p) >> (64 - heads->bits)];
}

bool SampleTable::start(size_t most_bytes) {
  widen();
  return heads_.load(std::memory_order_relaxed) != nullptr && entries_.start(most_bytes) &&
         entries_.add();
}

// Four times as many buckets; without memory for them the chains get longer.
void SampleTable::widen() {
  const Heads* const before = heads_.load(std::memory_order_relaxed);
  const unsigned bits = before != nullptr ? before->bits + 2 : kFirstBits;
  auto* const heads = static_cast<Heads*>(map_lazily(sizeof(Heads) + (sizeof(Head) << bits)));
  if (heads == nullptr) return;
  heads->bits = bits;
  for (size_t i = 0; before != nullptr && i < size_t{1} << before->bits; ++i) {
    for (uint32_t at = before->of[i].load(std::memory_order_relaxed); at != 0;) {
      Entry& entry = entries_[at];
      const uint32_t next = entry.next;
      Head& head = heads->of[hash(entry.address) >> (64 - bits)];
      entry.next = head.load(std::memory_order_relaxed);
      head.store(at, std::memory_order_relaxed);
      at = next;
    }
  }
  heads_.store(heads, std::memory_order_release);
}

bool SampleTable::put(const void* p, const Sample& sample) {
  const unsigned bits = heads_.load(std::memory_order_relaxed)->bits;
  if (live_ >> (bits + 1) != 0 && bits < kLastBits) widen();
  uint32_t at = free_;
  if (at != 0) {
    free_ = entries_[at].next;
  } else if (entries_.add()) {
    at = entries_.size() - 1;
  } else {
    return false;
  }
  Head& first = head(p);
  entries_[at] = {p, sample, first.load(std::memory_order_relaxed)};
  first.store(at, std::memory_order_relaxed);
  ++live_;
  return true;
}

bool SampleTable::take(const void* p, Sample& sample) {
  Head& first = head(p);
  uint32_t previous = 0;
  for (uint32_t at = first.load(std::memory_order_relaxed); at != 0;) {
    Entry& entry = entries_[at];
    if (entry.address == p) {
      sample = entry.sample;
      if (previous != 0) {
        entries_[previous].next = entry.next;
      } else {
        first.store(entry.next, std::memory_order_relaxed);
      }
      entry.next = free_;
      free_ = at;
      --live_;
      return true;
    }
    previous = at;
    at = entry.next;
  }
  return false;
}

bool SampleTable::may_hold(const void* p) const {
  return head(p).load(std::memory_order_relaxed) != 0;
}

}  // namespace pktmalloc
