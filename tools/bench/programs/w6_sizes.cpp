// SPDX-License-Identifier: MIT
// W6 sizes: a loop over many sizes, after glibc's own bench-malloc-thread. T threads.
//
// `w6_sizes [THREADS [LARGEST [SLOTS [REPLACEMENTS]]]]`: every thread has a table of SLOTS objects;
// it frees the one in a random slot and puts a new one there, REPLACEMENTS times over all threads.
// Sizes are 16 to LARGEST bytes, drawn with a likelihood that falls with the square of the size:
// half of the objects have fewer than 32 bytes, and each doubling of the size has the same share of
// the memory. The program writes the first two words of an object, where it has more than that, and
// its last byte, and checks first word and last byte before it frees it. "ms" is the whole time of
// all threads; the tables are filled before and emptied afterwards.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr std::uint32_t kSmallest = 16;

// Of sizes that are drawn by the inverse of their square, the inverses are evenly spread.
class Sizes {
 public:
  explicit Sizes(std::size_t largest) : reach_(1 - kSmallest / static_cast<double>(largest)) {}

  std::size_t draw(workload::Random& random) const {
    double uniform = random.below(kSteps) * (1.0 / kSteps);
    return static_cast<std::size_t>(kSmallest / (1 - uniform * reach_));
  }

 private:
  static constexpr std::uint32_t kSteps = 1 << 24;  // so that a size of 32 KiB is drawn, too
  double reach_;
};

class Slot {
 public:
  void fill(std::size_t size) {
    size_ = size;
    bytes_ = static_cast<unsigned char*>(std::malloc(size));
    std::size_t words[2] = {size, ~size};
    bytes_[size - 1] = mark();
    std::memcpy(bytes_, words, size > sizeof words ? sizeof words : sizeof words[0]);
  }

  // Returns whether the object was as fill left it.
  bool empty() {
    std::size_t word;
    std::memcpy(&word, bytes_, sizeof word);
    bool intact = word == size_ && bytes_[size_ - 1] == mark();
    std::free(bytes_);
    return intact;
  }

 private:
  unsigned char mark() const { return static_cast<unsigned char>(size_ ^ (size_ >> 8)); }

  unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// Returns how many objects were damaged.
std::size_t replace(std::vector<Slot>& table, Sizes sizes, std::size_t count, std::size_t seed) {
  workload::Random random(seed);
  std::size_t damaged = 0;
  for (; count > 0; --count) {
    Slot& slot = table[random.below(static_cast<std::uint32_t>(table.size()))];
    damaged += !slot.empty();
    slot.fill(sizes.draw(random));
  }
  return damaged;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_sizes [THREADS [LARGEST [SLOTS [REPLACEMENTS]]]]";
  std::size_t threads = workload::argument(argc, argv, 1, 1, usage);
  std::size_t largest = workload::argument(argc, argv, 2, 4'096, usage);
  std::size_t slots = workload::argument(argc, argv, 3, 4'096, usage);
  std::size_t replacements = workload::argument(argc, argv, 4, 12'000'000, usage);
  if (largest < kSmallest) workload::usage(usage);
  Sizes sizes(largest);

  std::atomic<std::size_t> damaged = 0;
  workload::StartingLine start(threads), end(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      workload::Random random(threads + i);
      std::vector<Slot> table(slots);
      for (Slot& slot : table) slot.fill(sizes.draw(random));
      start.wait();
      damaged += replace(table, sizes, replacements / threads, i);
      end.wait();
      for (Slot& slot : table) damaged += !slot.empty();
    });
  }

  workload::Stopwatch stopwatch = start.release();
  end.release();
  double ms = stopwatch.elapsed_ms();
  for (std::thread& thread : running) thread.join();
  if (damaged > 0) workload::fail("%zu objects were damaged", damaged.load());
  workload::print_json(argc, argv, {{"ms", ms}});
}
