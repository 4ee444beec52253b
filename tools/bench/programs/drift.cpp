// SPDX-License-Identifier: MIT
// Drifting sizes: what one size freed, does another use it?
//
// `drift [ROUNDS [OBJECTS]]`: OBJECTS objects live, at first of 64 to 127 bytes, evenly drawn. In
// every round each of them, in an order shuffled anew, is freed and replaced by one a quarter
// larger; who would be larger than 10 KiB begins again at a 160th of that. So all objects grow
// together, for ever: in each round the program asks for sizes that no object had in the rounds
// before, and frees those that none will have for the next twenty. An object has a mark in its
// first and last byte, checked before it is freed, and every page of it is written. In MiB, but for
// the last:
//   peak_mib        most that the process had in RAM
//   live_mib        most that the program held: bytes asked for and not yet freed
//   peak_per_live   the first divided by the second
// "ms" is the whole time.
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::uint32_t kSmallest = 64;
constexpr std::uint32_t kLargest = 10 * 1024;  // 20,000 objects hold 132 MiB at most
constexpr std::size_t kPageBytes = 4096;

class Object {
 public:
  void allocate(std::uint32_t size) {
    size_ = size;
    bytes_ = static_cast<unsigned char*>(std::malloc(size));
    for (std::size_t i = 0; i < size; i += kPageBytes) bytes_[i] = mark();
    bytes_[size - 1] = mark();
  }

  // Returns whether the object was as allocate left it.
  bool release() {
    bool intact = bytes_[0] == mark() && bytes_[size_ - 1] == mark();
    std::free(bytes_);
    return intact;
  }

  std::uint32_t size() const { return size_; }

 private:
  unsigned char mark() const { return static_cast<unsigned char>(size_ ^ (size_ >> 8)); }

  unsigned char* bytes_ = nullptr;
  std::uint32_t size_ = 0;
};

// The spread of the sizes stays: who begins again is as much larger than kSmallest as it would have
// been larger than kLargest.
std::uint32_t next_size(std::uint32_t size) {
  size += size / 4;
  return size > kLargest ? size / (kLargest / kSmallest) : size;
}

void shuffle(std::vector<std::uint32_t>& order, workload::Random& random) {
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
}

// A process begins with the peak of the one that it was forked from; that of `measure` is small.
double peak_bytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "drift [ROUNDS [OBJECTS]]";
  std::size_t rounds = workload::argument(argc, argv, 1, 69, usage);  // three times to the top
  std::size_t count = workload::argument(argc, argv, 2, 20'000, usage);

  workload::Random random(1);
  std::vector<Object> objects(count);
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::size_t live = 0, most_live = 0, damaged = 0;
  workload::Stopwatch stopwatch;
  for (Object& object : objects) {
    object.allocate(kSmallest + random.below(kSmallest));
    live += object.size();
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    shuffle(order, random);
    for (std::uint32_t place : order) {
      Object& object = objects[place];
      live -= object.size();
      damaged += !object.release();
      object.allocate(next_size(object.size()));
      live += object.size();
      most_live = std::max(most_live, live);
    }
  }
  for (Object& object : objects) damaged += !object.release();
  double ms = stopwatch.elapsed_ms();

  if (damaged > 0) workload::fail("%zu objects were damaged", damaged);
  double peak = peak_bytes(), most = static_cast<double>(most_live);
  workload::print_json(argc, argv,
                       {{"ms", ms},
                        {"peak_mib", peak / workload::kMebibyte},
                        {"live_mib", most / workload::kMebibyte},
                        {"peak_per_live", peak / most}});
}
