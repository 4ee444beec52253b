// SPDX-License-Identifier: MIT
#include "preload/observers/address_table.h"

#include <sys/single_threaded.h>

#include <cerrno>

#include "preload/base/mapping.h"
#include "sizeclass/memory.h"

namespace pktmalloc {
namespace {

constexpr unsigned kFirstBits = 9;  // a page
constexpr uint64_t kIdMask = (uint64_t{1} << AddressTable::kIdBits) - 1;
constexpr unsigned kAddressBits = 47;  // of a program
static_assert(kAddressBits - 3 + AddressTable::kIdBits <= 64);

// Fibonacci hashing (Knuth, vol. 3, 6.4). The top bits choose the shard, those below the word.
uint64_t hash(uint64_t address) { return (address >> 4) * 0x9E3779B97F4A7C15; }

uint64_t address_in(uint64_t word) { return word >> AddressTable::kIdBits << 3; }

uint64_t address_of(const void* p) { return reinterpret_cast<uintptr_t>(p) & ~uint64_t{7}; }

// A process with one thread does without: locked instructions were half of the recorder's cost.
class ShardLock {
 public:
  explicit ShardLock(Mutex& mutex) : mutex_(__libc_single_threaded != 0 ? nullptr : &mutex) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~ShardLock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;

 private:
  Mutex* mutex_;
};

}  // namespace

void AddressTable::start() {
  for (unsigned i = 0; i < 1U << kShardBits; ++i) {
    shards_[i].mutex.set_rank(lock_rank(OuterRank::kSizes) + i);
  }
}

AddressTable::Shard& AddressTable::shard(uint64_t address) {
  return shards_[hash(address) >> (64 - kShardBits)];
}

size_t AddressTable::Shard::home(uint64_t address) const {
  return hash(address) << kShardBits >> (64 - bits);
}

size_t AddressTable::Shard::find(uint64_t address) const {
  size_t i = home(address);
  while (words[i] != 0 && address_in(words[i]) != address) i = (i + 1) & mask();
  return i;
}

bool AddressTable::Shard::make_room() {
  if (words != nullptr && count < (mask() + 1) / 4 * 3) return true;
  const int saved_errno = errno;
  Shard larger;
  larger.bits = words == nullptr ? kFirstBits : bits + 1;
  larger.words = static_cast<uint64_t*>(map_lazily(sizeof(uint64_t) << larger.bits));
  errno = saved_errno;
  if (larger.words == nullptr) return false;
  if (words != nullptr) {
    for (size_t i = 0; i <= mask(); ++i) {
      if (words[i] != 0) larger.words[larger.find(address_in(words[i]))] = words[i];
    }
    memory::release(words, sizeof(uint64_t) << bits);
  }
  words = larger.words;
  bits = larger.bits;
  return true;
}

bool AddressTable::put(const void* p, uint32_t id, uint32_t& before) {
  const uint64_t address = address_of(p);
  if (address >> kAddressBits != 0) return false;
  Shard& s = shard(address);
  const ShardLock lock(s.mutex);
  if (!s.make_room()) return false;
  uint64_t& word = s.words[s.find(address)];
  before = static_cast<uint32_t>(word & kIdMask);
  if (word == 0) ++s.count;
  word = address >> 3 << kIdBits | id;
  return true;
}

uint32_t AddressTable::take(const void* p) {
  const uint64_t address = address_of(p);
  Shard& s = shard(address);
  const ShardLock lock(s.mutex);
  if (s.words == nullptr) return kNoId;
  size_t hole = s.find(address);
  const uint64_t found = s.words[hole];
  if (found == 0) return kNoId;
  --s.count;
  // Algorithm R (Knuth, vol. 3, 6.4): what is at home behind the hole would no longer be found.
  for (size_t i = (hole + 1) & s.mask(); s.words[i] != 0; i = (i + 1) & s.mask()) {
    const size_t home = s.home(address_in(s.words[i]));
    if (((i - home) & s.mask()) < ((i - hole) & s.mask())) continue;
    s.words[hole] = s.words[i];
    hole = i;
  }
  s.words[hole] = 0;
  return static_cast<uint32_t>(found & kIdMask);
}

void AddressTable::lock() AROUND_FORK {
  for (Shard& s : shards_) s.mutex.lock();
}

void AddressTable::unlock() AROUND_FORK {
  for (unsigned i = 1U << kShardBits; i-- > 0;) shards_[i].mutex.unlock();
}

}  // namespace pktmalloc
