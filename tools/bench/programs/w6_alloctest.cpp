// SPDX-License-Identifier: MIT
// W6 alloc-test: a big table of small objects, as a long-lived server has. T threads.
//
// `w6_alloctest [THREADS [SLOTS [OPERATIONS]]]`: every thread does OPERATIONS on its own table of
// SLOTS slots; one picks a slot at random, frees the object there or, if there is none, allocates
// one and fills all its bytes. Sizes are 8 to 1,023 bytes: 8 to 15 for half of the objects, 16 to
// 31 for a quarter, and so on, so that each doubling of the size has about the same share of the
// memory. Before an object is freed its first, middle and last byte are checked. "ms" is the whole
// time of all threads, emptying the tables included.
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::uint32_t kSmallest = 8;
constexpr std::uint32_t kDoublings = 7;  // the last one reaches to 8 * 2^7 - 1

std::uint32_t random_size(workload::Random& random) {
  std::uint32_t last = 1u << (kDoublings - 1);
  std::uint32_t floor = kSmallest << std::countr_zero(random.below(last) | last);
  return floor + random.below(floor);
}

class Slot {
 public:
  bool is_empty() const { return object_ == nullptr; }

  void allocate(std::uint32_t size) {
    size_ = size;
    object_ = static_cast<unsigned char*>(std::malloc(size));
    std::memset(object_, mark(), size);
  }

  // Returns whether the object was as allocate left it.
  bool release() {
    bool intact =
        object_[0] == mark() && object_[size_ / 2] == mark() && object_[size_ - 1] == mark();
    std::free(object_);
    object_ = nullptr;
    return intact;
  }

 private:
  unsigned char mark() const { return static_cast<unsigned char>(size_ ^ (size_ >> 8)); }

  unsigned char* object_ = nullptr;
  std::uint32_t size_ = 0;
};

// Returns how many objects were damaged.
std::size_t operate(std::size_t slots, std::size_t operations, std::size_t seed) {
  workload::Random random(seed);
  std::vector<Slot> table(slots);
  std::size_t damaged = 0;
  for (; operations > 0; --operations) {
    Slot& slot = table[random.below(static_cast<std::uint32_t>(slots))];
    if (slot.is_empty())
      slot.allocate(random_size(random));
    else
      damaged += !slot.release();
  }
  for (Slot& slot : table)
    if (!slot.is_empty()) damaged += !slot.release();
  return damaged;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_alloctest [THREADS [SLOTS [OPERATIONS]]]";
  std::size_t threads = workload::argument(argc, argv, 1, 1, usage);
  std::size_t slots = workload::argument(argc, argv, 2, 500'000, usage);
  std::size_t operations = workload::argument(argc, argv, 3, 4'000'000, usage);

  std::atomic<std::size_t> damaged = 0;
  workload::StartingLine start(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.wait();
      damaged += operate(slots, operations, i);
    });
  }

  workload::Stopwatch stopwatch = start.release();
  for (std::thread& thread : running) thread.join();
  double ms = stopwatch.elapsed_ms();
  if (damaged > 0) workload::fail("%zu objects were damaged", damaged.load());
  workload::print_json(argc, argv, {{"ms", ms}});
}
