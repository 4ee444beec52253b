// SPDX-License-Identifier: MIT
// W6 pages: many sizes, a handful of pages each. One thread.
//
// `w6_pages [TOUCHES]`: 48 sizes from 16 to 4,096 bytes, and of each no more objects than fill two
// to six pages, 189 in all. The program goes round over the sizes, TOUCHES times: of each it takes
// a random object, reads and writes the number at its head, and every fourth time frees the object
// and allocates another one of that size. Two touches that follow each other are of two sizes, so
// with classes of pages of their own every touch meets another page. An allocator that puts the
// memory of each class at like addresses pays here: the pages fall into few sets of the TLB, the
// objects into few sets of the cache. "ms" is the time of the touches.
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kPageBytes = 4096;

// Multiples of 16 up to 128, then eight a doubling.
std::vector<std::size_t> make_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 16; size <= 128; size += 16) sizes.push_back(size);
  for (std::size_t doubling = 128; doubling < 4'096; doubling *= 2)
    for (std::size_t eighth = 1; eighth <= 8; ++eighth)
      sizes.push_back(doubling + doubling * eighth / 8);
  return sizes;
}

// The objects of one size. Each begins with a number: how often it was touched, it and those that
// had its place before.
class Herd {
 public:
  Herd(std::size_t size, std::size_t pages) : size_(size), objects_(pages * kPageBytes / size) {
    for (std::size_t*& object : objects_) object = make(0);
  }

  void touch(workload::Random& random) { ++*pick(random); }

  void replace(workload::Random& random) {
    std::size_t*& object = pick(random);
    std::size_t number = *object + 1;
    std::free(object);
    object = make(number);
  }

  // Frees all objects and returns the sum of their numbers.
  std::size_t empty() {
    std::size_t sum = 0;
    for (std::size_t* object : objects_) {
      sum += *object;
      std::free(object);
    }
    return sum;
  }

 private:
  std::size_t*& pick(workload::Random& random) {
    return objects_[random.below(static_cast<std::uint32_t>(objects_.size()))];
  }

  std::size_t* make(std::size_t number) const {
    auto object = static_cast<std::size_t*>(std::malloc(size_));
    *object = number;
    return object;
  }

  std::size_t size_;
  std::vector<std::size_t*> objects_;
};

std::vector<Herd> make_herds() {
  std::vector<Herd> herds;
  for (std::size_t size : make_sizes()) herds.emplace_back(size, 2 + herds.size() % 5);
  return herds;
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w6_pages [TOUCHES]";
  std::size_t touches = workload::argument(argc, argv, 1, 40'000'000, usage);

  workload::Random random(1);
  std::vector<Herd> herds = make_herds();
  std::size_t rounds = touches / herds.size();
  workload::Stopwatch stopwatch;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < herds.size(); ++i) {
      if ((round + i) % 4 == 0)
        herds[i].replace(random);
      else
        herds[i].touch(random);
    }
  }
  double ms = stopwatch.elapsed_ms();

  std::size_t sum = 0;
  for (Herd& herd : herds) sum += herd.empty();
  if (sum != rounds * herds.size())
    workload::fail("the numbers add up to %zu, not to %zu", sum, rounds * herds.size());
  workload::print_json(argc, argv, {{"ms", ms}});
}
