// SPDX-License-Identifier: MIT
// W4: the five tests of the study, applied to plain malloc. One thread.
//
// `w4_tests [COUNT [ROUNDS]]`, with objects of 64 bytes:
//   objects     COUNT objects keep their values while all of them are live (else exit status 1)
//   growth_mib  how much more memory, in MiB, is resident with COUNT objects held a second time,
//               all written, than with the first COUNT of them, which were freed
//   malloc_ns   cost of a malloc and
//   free_ns     of a free, in ns: ROUNDS rounds of 100,000 objects, freed in shuffled order, after
//               one round that is not timed
// The other two are elsewhere: no leak is valgrind's to say, time by threads is w4_exchange.
#include <cstring>
#include <utility>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kObjectBytes = 64;
constexpr std::size_t kRoundObjects = 100'000;

using Value = std::uint64_t[kObjectBytes / sizeof(std::uint64_t)];

void* allocate() {
  void* object = std::malloc(kObjectBytes);
  workload::keep(object);
  return object;
}

void fill(Value& value, std::uint64_t number) {
  for (std::uint64_t& word : value) word = number++ * 0x9E3779B97F4A7C15;
}

void shuffle(std::vector<void*>& objects, workload::Random& random) {
  for (std::size_t i = objects.size() - 1; i > 0; --i)
    std::swap(objects[i], objects[random.below(static_cast<std::uint32_t>(i + 1))]);
}

void hold(std::vector<void*>& objects) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Value value;
    fill(value, i);
    objects[i] = allocate();
    std::memcpy(objects[i], value, sizeof value);
  }
}

bool values_kept(const std::vector<void*>& objects) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Value value;
    fill(value, i);
    if (std::memcmp(objects[i], value, sizeof value) != 0) return false;
  }
  return true;
}

void free_shuffled(std::vector<void*>& objects, workload::Random& random) {
  shuffle(objects, random);
  for (void* object : objects) std::free(object);
}

struct Cost {
  double malloc_ms = 0;
  double free_ms = 0;
};

void add_round(Cost& cost, std::vector<void*>& objects, workload::Random& random) {
  workload::Stopwatch malloc_time;
  for (void*& object : objects) object = allocate();
  cost.malloc_ms += malloc_time.elapsed_ms();
  shuffle(objects, random);
  workload::Stopwatch free_time;
  for (void* object : objects) std::free(object);
  cost.free_ms += free_time.elapsed_ms();
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "w4_tests [COUNT [ROUNDS]]";
  std::size_t count = workload::argument(argc, argv, 1, 1'000'000, usage);
  std::size_t rounds = workload::argument(argc, argv, 2, 50, usage);
  workload::Random random(1);

  std::vector<void*> objects(count);
  hold(objects);
  bool kept = values_kept(objects);
  double first = resident_bytes();
  free_shuffled(objects, random);
  hold(objects);
  kept = kept && values_kept(objects);
  double second = resident_bytes();
  free_shuffled(objects, random);
  if (!kept) workload::fail("w4_tests: an object has lost its value");

  std::vector<void*> round_objects(kRoundObjects);
  Cost untimed, cost;
  add_round(untimed, round_objects, random);
  for (std::size_t round = 0; round < rounds; ++round) add_round(cost, round_objects, random);

  double calls = static_cast<double>(rounds * kRoundObjects);
  workload::print_json(argc, argv,
                       {{"objects", static_cast<double>(count)},
                        {"growth_mib", (second - first) / workload::kMebibyte},
                        {"malloc_ns", cost.malloc_ms * 1e6 / calls},
                        {"free_ns", cost.free_ms * 1e6 / calls}});
}
