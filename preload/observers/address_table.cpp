// SPDX-License-Identifier: MIT
#include "preload/observers/address_table.h"

#include "preload/base/newer_libc.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kIdMask = (uint64_t{1} << AddressTable::kIdBits) - 1;

uint64_t address_of(const void* p) { return reinterpret_cast<uintptr_t>(p) & ~uint64_t{7}; }

// A process with one thread does without: locked instructions were half of the recorder's cost.
bool has_threads() { return !has_one_thread(); }

}  // namespace

void AddressTable::start() {
  for (unsigned i = 0; i < kSizesShards; ++i) {
    shards_[i].mutex.set_rank(lock_rank(OuterRank::kSizes) + i);
  }
}

// By hash bits that no table of less than 2^32 words uses.
AddressTable::Shard& AddressTable::shard(uint64_t address) {
  return shards_[(Words::hash(address) >> 28) % kSizesShards];
}

bool AddressTable::put(const void* p, uint32_t id, uint32_t& before) {
  const uint64_t address = address_of(p);
  if (address >> machine::kAddressBits != 0) return false;
  Shard& s = shard(address);
  const Lock lock(s.mutex, has_threads());
  uint64_t former = 0;
  if (!s.words.put(address >> 3 << kIdBits | id, former)) return false;
  before = static_cast<uint32_t>(former & kIdMask);
  return true;
}

uint32_t AddressTable::take(const void* p) {
  const uint64_t address = address_of(p);
  Shard& s = shard(address);
  const Lock lock(s.mutex, has_threads());
  return static_cast<uint32_t>(s.words.take(address) & kIdMask);
}

void AddressTable::lock() AROUND_FORK {
  for (Shard& s : shards_) s.mutex.lock();
}

void AddressTable::unlock() AROUND_FORK {
  for (unsigned i = kSizesShards; i-- > 0;) shards_[i].mutex.unlock();
}

}  // namespace pktmalloc
