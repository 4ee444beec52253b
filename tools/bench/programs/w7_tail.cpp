// SPDX-License-Identifier: MIT
// W7: tail latency of a packet path. A producer, a bounded ring, a consumer.
//
// `w7_tail RATE|flat [OBJECTS [reserve]]`: the producer allocates OBJECTS objects of 64 or 1500
// bytes, evenly at random, writes the first and the last byte and puts them into a ring of 1024
// slots; the consumer reads both bytes and frees. RATE is the offered rate in objects per second:
// the producer waits for each object's moment, and who is late catches up, so a slow call does not
// thin out the load. With flat nobody waits but for the ring. With reserve, the producer first
// allocates 4096 objects of each size, writes all of them and frees them all.
// Every malloc and every free is timed with the cycle counter. Cold is the first tenth, at most
// 100,000 objects; warm is the rest. Times of calls are in ns, of three significant digits:
//   malloc_p50_ns ... malloc_p99_99_ns, malloc_max_ns    warm; free_... alike
//   malloc_cold_p50_ns ... malloc_cold_max_ns            cold; free_cold_... alike
//   overhead_ns            the median of an empty measurement; subtracted from all the others
//   empty_p99_9_ns, empty_p99_99_ns, empty_max_ns        of an empty measurement per object
//   late_max_us            by how much the producer was behind its schedule at most
//   ms                     the whole time
//
// Both threads are busy all the time, each pinned to a CPU of its own; it takes two. The timer's
// interrupts and whoever else wants those CPUs lengthen calls of every allocator alike; the empty
// measurements show how much: a percentile that is not above theirs says nothing.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <latch>
#include <string_view>
#include <thread>

#include "pin.h"
#include "sizeclass/base/machine.h"
#include "tools/command/replay/ticks.h"
#include "workload.h"

namespace {

namespace machine = pktmalloc::machine;

constexpr std::size_t kSizes[] = {64, 1500};
constexpr std::size_t kReservedPerSize = 4096;
constexpr std::size_t kRingSlots = 1024;

double calibrate_cycles_per_ns() {
  auto start_time = std::chrono::steady_clock::now();  // CLOCK_MONOTONIC
  std::uint64_t start = pktmalloc::ticks_before();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::uint64_t end = pktmalloc::ticks_before();
  std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start_time;
  return static_cast<double>(end - start) / elapsed.count();
}

// Log-linear, after Tene's HdrHistogram: values below 2048 have a bucket each, larger ones 1024
// per doubling, so a bucket is at most 0.1 % wide.
class alignas(64) Histogram {
 public:
  // Touches all buckets: page faults are not to come in the measurement.
  void clear() { std::memset(this, 0, sizeof *this); }

  void record(std::uint64_t value) {
    value = std::min(value, kLimit - 1);
    max_ = std::max(max_, value);
    ++count_;
    ++buckets_[bucket_of(value)];
  }

  // The value that the share of all values does not exceed, rounded up to the end of its bucket.
  std::uint64_t percentile(double share) const {
    double want = share * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen > 0 && static_cast<double>(seen) >= want) return std::min(last_of(i), max_);
    }
    return 0;
  }

  std::uint64_t max() const { return max_; }

 private:
  static constexpr int kLimitBits = 40;  // minutes
  static constexpr std::uint64_t kLimit = std::uint64_t{1} << kLimitBits;
  static constexpr int kLinearBits = 11;
  static constexpr std::size_t kPerDoubling = std::size_t{1} << (kLinearBits - 1);
  static constexpr std::size_t kBuckets = (kLimitBits - kLinearBits + 2) * kPerDoubling;

  static std::size_t bucket_of(std::uint64_t value) {
    int shift = std::max(0, static_cast<int>(std::bit_width(value)) - kLinearBits);
    return static_cast<std::size_t>(shift) * kPerDoubling + (value >> shift);
  }
  static std::uint64_t last_of(std::size_t bucket) {
    std::size_t shift = std::max(bucket / kPerDoubling, std::size_t{1}) - 1;
    return ((bucket - shift * kPerDoubling + 1) << shift) - 1;
  }

  std::uint64_t max_, count_;
  std::uint32_t buckets_[kBuckets];
};

// One producer, one consumer.
class Ring {
 public:
  struct Packet {
    unsigned char* object;
    std::size_t bytes;
  };

  bool push(Packet packet) {
    std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kRingSlots) return false;
    slots_[tail % kRingSlots] = packet;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  bool pop(Packet& packet) {
    std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    packet = slots_[head % kRingSlots];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  void touch() { std::memset(slots_, 0, sizeof slots_); }

 private:
  alignas(64) std::atomic<std::size_t> tail_ = 0;  // release in push, acquire in pop
  alignas(64) std::atomic<std::size_t> head_ = 0;  // release in pop, acquire in push
  alignas(64) Packet slots_[kRingSlots];
};

struct Plan {
  std::size_t objects, cold_objects;
  double cycles_per_object;  // 0: flat out
  std::uint64_t overhead;    // cycles
};

Ring ring;
Histogram malloc_cold, malloc_warm, empty;  // written by the producer
Histogram free_cold, free_warm;             // written by the consumer

template <typename Call>
void measure(std::uint64_t overhead, Histogram& histogram, Call call) {
  std::uint64_t start = pktmalloc::ticks_before();
  call();
  std::uint64_t cycles = pktmalloc::ticks_after() - start;
  histogram.record(cycles - std::min(cycles, overhead));
}

// In cycles.
std::uint64_t measure_overhead() {
  for (int i = 0; i < 10'000; ++i) measure(0, empty, [] {});
  std::uint64_t median = empty.percentile(0.5);
  empty.clear();
  return median;
}

void make_reserve() {
  static void* reserved[std::size(kSizes) * kReservedPerSize];
  for (std::size_t i = 0; i < std::size(reserved); ++i) {
    std::size_t bytes = kSizes[i % std::size(kSizes)];
    reserved[i] = std::malloc(bytes);
    std::memset(reserved[i], 1, bytes);
  }
  for (void* object : reserved) std::free(object);
}

// Returns by how many cycles it was behind its schedule at most.
double produce(const Plan& plan) {
  workload::Random random(1);
  double late_max = 0;
  std::uint64_t start = pktmalloc::ticks_before();
  for (std::size_t i = 0; i < plan.objects; ++i) {
    if (plan.cycles_per_object > 0) {
      double due = static_cast<double>(i) * plan.cycles_per_object;
      double now;
      while ((now = static_cast<double>(pktmalloc::ticks_before() - start)) < due) machine::pause();
      late_max = std::max(late_max, now - due);
    }
    std::size_t bytes = kSizes[random.below(std::size(kSizes))];
    void* object = nullptr;
    Histogram& histogram = i < plan.cold_objects ? malloc_cold : malloc_warm;
    measure(plan.overhead, histogram, [&] { object = std::malloc(bytes); });
    auto packet = Ring::Packet{static_cast<unsigned char*>(object), bytes};
    packet.object[0] = static_cast<unsigned char>(i);
    packet.object[bytes - 1] = static_cast<unsigned char>(~i);
    while (!ring.push(packet)) machine::pause();
    measure(plan.overhead, empty, [] {});
  }
  return late_max;
}

// Returns how many objects did not hold what the producer wrote.
std::size_t consume(const Plan& plan) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < plan.objects; ++i) {
    Ring::Packet packet;
    while (!ring.pop(packet)) machine::pause();
    auto first = static_cast<unsigned char>(i), last = static_cast<unsigned char>(~i);
    wrong += packet.object[0] != first || packet.object[packet.bytes - 1] != last;
    Histogram& histogram = i < plan.cold_objects ? free_cold : free_warm;
    measure(plan.overhead, histogram, [&] { std::free(packet.object); });
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w7_tail RATE|flat [OBJECTS [reserve]]";
  bool reserve = argc == 4 && std::string_view(argv[3]) == "reserve";
  if (argc < 2 || (argc > 3 && !reserve)) workload::usage(usage);
  bool flat = std::string_view(argv[1]) == "flat";
  std::size_t rate = flat ? 0 : workload::argument(argc, argv, 1, 0, usage);
  std::size_t objects = workload::argument(argc, argv, 2, 400'000, usage);

  ring.touch();
  for (Histogram* histogram : {&malloc_cold, &malloc_warm, &free_cold, &free_warm, &empty})
    histogram->clear();
  double cycles_per_ns = calibrate_cycles_per_ns();
  Plan plan{objects, std::min<std::size_t>(objects / 10, 100'000),
            flat ? 0 : cycles_per_ns * 1e9 / static_cast<double>(rate), measure_overhead()};

  double late_cycles = 0;
  std::size_t wrong = 0;
  workload::Stopwatch stopwatch;
  std::latch start(2);
  std::thread producer([&] {
    workload::pin(0);
    if (reserve) make_reserve();
    start.arrive_and_wait();
    stopwatch = workload::Stopwatch();
    late_cycles = produce(plan);
  });
  std::thread consumer([&] {
    workload::pin(1);
    start.arrive_and_wait();
    wrong = consume(plan);
  });
  producer.join();
  consumer.join();

  if (wrong > 0) workload::fail("%zu objects did not hold what the producer wrote", wrong);
  auto ns = [&](std::uint64_t cycles) { return static_cast<double>(cycles) / cycles_per_ns; };
  auto at = [&](const Histogram& of, double share) { return ns(of.percentile(share)); };
  workload::print_json(argc, argv,
                       {{"ms", stopwatch.elapsed_ms()},
                        {"malloc_p50_ns", at(malloc_warm, 0.5)},
                        {"malloc_p90_ns", at(malloc_warm, 0.9)},
                        {"malloc_p99_ns", at(malloc_warm, 0.99)},
                        {"malloc_p99_9_ns", at(malloc_warm, 0.999)},
                        {"malloc_p99_99_ns", at(malloc_warm, 0.9999)},
                        {"malloc_max_ns", ns(malloc_warm.max())},
                        {"malloc_cold_p50_ns", at(malloc_cold, 0.5)},
                        {"malloc_cold_p99_ns", at(malloc_cold, 0.99)},
                        {"malloc_cold_p99_9_ns", at(malloc_cold, 0.999)},
                        {"malloc_cold_max_ns", ns(malloc_cold.max())},
                        {"free_p50_ns", at(free_warm, 0.5)},
                        {"free_p90_ns", at(free_warm, 0.9)},
                        {"free_p99_ns", at(free_warm, 0.99)},
                        {"free_p99_9_ns", at(free_warm, 0.999)},
                        {"free_p99_99_ns", at(free_warm, 0.9999)},
                        {"free_max_ns", ns(free_warm.max())},
                        {"free_cold_p50_ns", at(free_cold, 0.5)},
                        {"free_cold_p99_ns", at(free_cold, 0.99)},
                        {"free_cold_p99_9_ns", at(free_cold, 0.999)},
                        {"free_cold_max_ns", ns(free_cold.max())},
                        {"empty_p99_9_ns", at(empty, 0.999)},
                        {"empty_p99_99_ns", at(empty, 0.9999)},
                        {"empty_max_ns", ns(empty.max())},
                        {"overhead_ns", ns(plan.overhead)},
                        {"late_max_us", late_cycles / cycles_per_ns / 1000}});
}
