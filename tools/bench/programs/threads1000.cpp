// SPDX-License-Identifier: MIT
// A thousand threads that each did a little: what do they keep?
//
// `threads1000 [THREADS]`: every thread allocates one object of each of ten sizes from 32 to 4096
// bytes, writes them, frees them and then waits. "mib" is what is resident, in MiB, while all wait.
// Stacks are 64 KiB, so that the threads themselves take little.
#include <pthread.h>

#include <array>
#include <cstring>
#include <latch>
#include <vector>

#include "workload.h"

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::array<std::size_t, 10> kSizes = {32, 48, 64, 128, 256, 512, 1024, 1500, 2048, 4096};

struct Stages {
  explicit Stages(std::ptrdiff_t threads) : waiting(threads) {}
  std::latch waiting, end{1};
};

void* run(void* argument) {
  Stages& stages = *static_cast<Stages*>(argument);
  std::array<void*, kSizes.size()> objects;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    objects[i] = std::malloc(kSizes[i]);
    std::memset(objects[i], 1, kSizes[i]);
  }
  for (void* object : objects) std::free(object);
  stages.waiting.count_down();
  stages.end.wait();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t threads = workload::argument(argc, argv, 1, 1000, "threads1000 [THREADS]");

  Stages stages(static_cast<std::ptrdiff_t>(threads));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  std::vector<pthread_t> running(threads);
  for (pthread_t& thread : running) {
    if (pthread_create(&thread, &attributes, run, &stages) != 0)
      workload::fail("threads1000: a thread could not be created");
  }
  stages.waiting.wait();
  double resident = resident_bytes();
  stages.end.count_down();
  for (pthread_t thread : running) pthread_join(thread, nullptr);
  workload::print_json(argc, argv, {{"mib", resident / workload::kMebibyte}});
}
