// SPDX-License-Identifier: MIT
// W1: packets behind smart pointers, as a 10 GbE receiver makes them. One thread.
//
// `w1_packets VARIANT [COUNT]`: a packet is 1500 bytes whose constructor writes the first one.
// COUNT packets are made and kept in a vector with room for all, then all are released. Ten such
// rounds; the best and the worst are dropped, "ms" is the mean of the other eight; "first_ms" is
// the first.
//   shared_ptr_new   shared_ptr<Packet>(new Packet)         plain
//   make_shared      make_shared<Packet>()                  plain
//   new_delete       new Packet, delete                     plain
//   pool_deleter     shared_ptr over the pool, deleter      hand-written pool
//   allocate_shared  allocate_shared, pool allocator        hand-written pool
//   pool_only        the pool's take and give, no packet    hand-written pool
//   header           pktmalloc::make_unique                 inlined
//   header_shared    pktmalloc::make_shared                 inlined
// The pool is a vector of free blocks behind a mutex, all of them allocated beforehand.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string_view>
#include <vector>

#include "preload/contract/pktmalloc.hpp"
#include "workload.h"

namespace {

constexpr std::size_t kPacketBytes = 1500;
constexpr std::size_t kRounds = 10;

struct Packet {
  Packet() {
    bytes[0] = 1;
    workload::keep(this);
  }
  unsigned char bytes[kPacketBytes];
};

class BlockPool {
 public:
  static constexpr std::size_t kBlockBytes = sizeof(Packet) + 64;

  explicit BlockPool(std::size_t blocks) {
    blocks_.reserve(blocks);
    while (blocks_.size() < blocks) blocks_.push_back(::operator new(kBlockBytes));
  }
  ~BlockPool() {
    for (void* block : blocks_) ::operator delete(block);
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  void* take() {
    std::lock_guard lock(mutex_);
    if (blocks_.empty()) return ::operator new(kBlockBytes);
    void* block = blocks_.back();
    blocks_.pop_back();
    return block;
  }

  void give(void* block) {
    std::lock_guard lock(mutex_);
    blocks_.push_back(block);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> blocks_;
};

template <typename T>
struct PoolAllocator {
  using value_type = T;

  explicit PoolAllocator(BlockPool& block_pool) : pool(&block_pool) {}
  template <typename U>
  explicit PoolAllocator(const PoolAllocator<U>& other) : pool(other.pool) {}

  T* allocate(std::size_t) {
    static_assert(sizeof(T) <= BlockPool::kBlockBytes);
    return static_cast<T*>(pool->take());
  }
  void deallocate(T* object, std::size_t) { pool->give(object); }

  BlockPool* pool;
};

struct Times {
  double first_ms, mean_ms;
};

// Makes COUNT handles and releases them, ten times over; the mean is trimmed.
template <typename Make, typename ReleaseAll>
Times measure(std::size_t count, Make make, ReleaseAll release_all) {
  std::vector<decltype(make())> kept;
  kept.resize(count);  // its own pages are not what is measured
  kept.clear();
  std::array<double, kRounds> times;
  for (double& time : times) {
    workload::Stopwatch stopwatch;
    for (std::size_t i = 0; i < count; ++i) kept.push_back(make());
    release_all(kept);
    kept.clear();
    time = stopwatch.elapsed_ms();
  }
  const double first = times.front();
  std::sort(times.begin(), times.end());
  return {first, std::accumulate(times.begin() + 1, times.end() - 1, 0.0) / (kRounds - 2)};
}

Times measure_variant(std::string_view variant, std::size_t count, const char* usage) {
  // Handles that own their packet release it when the vector is cleared.
  auto by_clearing = [](auto&) {};

  if (variant == "shared_ptr_new")
    return measure(
        count, [] { return std::shared_ptr<Packet>(new Packet); }, by_clearing);
  if (variant == "make_shared")
    return measure(
        count, [] { return std::make_shared<Packet>(); }, by_clearing);
  if (variant == "new_delete") {
    auto delete_all = [](std::vector<Packet*>& packets) {
      for (Packet* packet : packets) delete packet;
    };
    return measure(
        count, [] { return new Packet; }, delete_all);
  }
  if (variant == "header")
    return measure(
        count, [] { return pktmalloc::make_unique<Packet>(); }, by_clearing);
  if (variant == "header_shared")
    return measure(
        count, [] { return pktmalloc::make_shared<Packet>(); }, by_clearing);

  BlockPool pool(count);
  if (variant == "pool_deleter") {
    auto give = [&pool](Packet* packet) { pool.give(packet); };
    auto make = [&pool, give] { return std::shared_ptr<Packet>(new (pool.take()) Packet, give); };
    return measure(count, make, by_clearing);
  }
  if (variant == "allocate_shared") {
    PoolAllocator<Packet> allocator(pool);
    return measure(
        count, [allocator] { return std::allocate_shared<Packet>(allocator); }, by_clearing);
  }
  if (variant == "pool_only") {
    auto give_all = [&pool](std::vector<void*>& blocks) {
      for (void* block : blocks) pool.give(block);
    };
    return measure(
        count, [&pool] { return pool.take(); }, give_all);
  }
  workload::usage(usage);
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage =
      "w1_packets shared_ptr_new|make_shared|new_delete|pool_deleter|allocate_shared|pool_only|"
      "header|header_shared [COUNT]";
  if (argc < 2) workload::usage(usage);
  std::size_t count = workload::argument(argc, argv, 2, 1'000'000, usage);
  const auto [first_ms, mean_ms] = measure_variant(argv[1], count, usage);
  workload::print_json(argc, argv, {{"ms", mean_ms}, {"first_ms", first_ms}});
}
