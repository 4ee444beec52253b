// SPDX-License-Identifier: MIT
// W2 pipeline: packets through a bounded ring, in bursts. P producers, one consumer.
//
// `w2_pipeline [PRODUCERS [BURSTS]]`: a producer allocates a packet of 1500 bytes, writes the 64
// bytes of its header, and puts every 32 packets as one burst into a ring of 4096; all producers
// together make BURSTS of them. The consumer takes a burst, reads the headers and frees the
// packets: every free is of another thread's object, and no more than 4096 packets wait.
//   ms                  the whole time, from the common start until the last packet was freed
//   cpu_ns_per_packet   what all threads worked in that time, by packet
// The ring has a mutex, locked once a burst. Who finds it full, or empty, sleeps until it is half
// empty, or half full: so a thread is woken once in 2048 packets at most, and the cost of waking
// stays far below that of the packets. Threads that spin would add their spinning to the CPU time.
// The producers are pinned to one CPU, the consumer to another: a scheduler that lets them take
// turns on one of them spares every packet the way from cache to cache, and the times scatter
// threefold with what it chose.
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "pin.h"
#include "workload.h"

namespace {

constexpr std::size_t kPacketBytes = 1500;
constexpr std::size_t kPacketsOfBurst = 32;
constexpr std::size_t kBursts = 4096 / kPacketsOfBurst;

struct Header {
  std::array<std::size_t, 8> words;
};

using Burst = std::array<Header*, kPacketsOfBurst>;

class Ring {
 public:
  explicit Ring(std::size_t producers) : producers_(producers) {}

  void put(const Burst& burst) {
    std::unique_lock lock(mutex_);
    if (waiting_ == kBursts) has_room_.wait(lock, [this] { return waiting_ <= kBursts / 2; });
    bursts_[(first_ + waiting_++) % kBursts] = burst;
    bool wake = waiting_ == kBursts / 2;
    lock.unlock();
    if (wake) has_bursts_.notify_one();
  }

  // False when the ring is empty and no producer is left.
  bool take(Burst& burst) {
    std::unique_lock lock(mutex_);
    if (waiting_ == 0)
      has_bursts_.wait(lock, [this] { return producers_ == 0 || waiting_ >= kBursts / 2; });
    if (waiting_ == 0) return false;
    burst = bursts_[first_++ % kBursts];
    bool wake = --waiting_ == kBursts / 2;
    lock.unlock();
    if (wake) has_room_.notify_all();
    return true;
  }

  // By every producer, at its end.
  void leave() {
    std::lock_guard lock(mutex_);
    if (--producers_ == 0) has_bursts_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_room_, has_bursts_;
  std::array<Burst, kBursts> bursts_{};
  std::size_t first_ = 0, waiting_ = 0;
  std::size_t producers_;  // that have not left
};

// Returns the sum of all words that it wrote.
std::size_t produce(Ring& ring, std::size_t bursts, std::size_t seed) {
  std::size_t number = seed << 32, sum = 0;
  for (; bursts > 0; --bursts) {
    Burst burst;
    for (Header*& packet : burst) {
      packet = static_cast<Header*>(std::malloc(kPacketBytes));
      packet->words.fill(++number);
      sum += number * packet->words.size();
    }
    ring.put(burst);
  }
  return sum;
}

// Returns the sum of all words that it read.
std::size_t consume(Ring& ring) {
  std::size_t sum = 0;
  for (Burst burst; ring.take(burst);) {
    for (Header* packet : burst) {
      for (std::size_t word : packet->words) sum += word;
      std::free(packet);
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w2_pipeline [PRODUCERS [BURSTS]]";
  std::size_t producers = workload::argument(argc, argv, 1, 1, usage);
  std::size_t bursts = workload::argument(argc, argv, 2, 62'500, usage);

  auto ring = std::make_unique<Ring>(producers);
  std::vector<std::size_t> sums(producers);
  workload::StartingLine start(producers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers; ++i) {
    std::size_t share = bursts * (i + 1) / producers - bursts * i / producers;
    threads.emplace_back([&, share, i] {
      workload::pin(0);
      start.wait();
      sums[i] = produce(*ring, share, i);
      ring->leave();
    });
  }

  workload::pin(1);
  workload::Stopwatch stopwatch = start.release();
  std::size_t read = consume(*ring);
  double ms = stopwatch.elapsed_ms(), cpu_ms = stopwatch.cpu_ms();
  for (std::thread& thread : threads) thread.join();

  std::size_t written = std::accumulate(sums.begin(), sums.end(), std::size_t{0});
  if (read != written)
    workload::fail("sum of the headers read is %zu, of those written %zu", read, written);
  double packets = static_cast<double>(bursts * kPacketsOfBurst);
  workload::print_json(argc, argv, {{"ms", ms}, {"cpu_ns_per_packet", 1e6 * cpu_ms / packets}});
}
