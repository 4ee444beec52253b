// SPDX-License-Identifier: MIT
// Memory that passes from size to size, and memory that nobody needs.
//
//   turns      ten sizes of 64 to 3,664 bytes, 40 MiB of each, freed before the next; 3 times
//   two        200 and 3,000 bytes, 40 MiB of each in turn, 40 times
//   survivors  ten sizes of 100 to 2,800 bytes, 64 MiB of each, of which every tenth object stays
//   few        200 MiB of 8,000 bytes, of which every sixteenth stays; then 5 s of light work
//   zeroed     1,000 zeroed objects of 200,000 bytes, of which one byte is used
//
// "ms" is the whole time, "cpu_ms" that of the processor, "peak_mib" the most in RAM.
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "workload.h"

namespace {

constexpr const char* kUsage = "passing turns|two|survivors|few|zeroed";
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPageBytes = 4096;

char* allocate(std::size_t bytes) {
  auto* const object = static_cast<char*>(std::malloc(bytes));
  for (std::size_t at = 0; at < bytes; at += kPageBytes) object[at] = 1;
  object[bytes - 1] = 1;
  return object;
}

// Every `stays`-th object of so many bytes in all stays for ever; 0: none.
void fill(std::size_t bytes, std::size_t all, std::size_t stays = 0) {
  std::vector<char*> objects(all / bytes);
  for (char*& object : objects) object = allocate(bytes);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (stays == 0 || i % stays != 0) std::free(objects[i]);
  }
}

bool run(std::string_view what) {
  if (what == "turns") {
    for (std::size_t n = 0; n < 30; ++n) fill(64 + n % 10 * 400, 40 * kMiB);
  } else if (what == "two") {
    for (std::size_t n = 0; n < 80; ++n) fill(n % 2 == 0 ? 200 : 3000, 40 * kMiB);
  } else if (what == "survivors") {
    for (std::size_t n = 0; n < 10; ++n) fill(100 + n * 300, 64 * kMiB, 10);
  } else if (what == "few") {
    fill(8000, 200 * kMiB, 16);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < end) {
      for (const std::size_t bytes : {64, 8000}) {
        void* object = std::malloc(bytes);
        workload::keep(object);
        std::free(object);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } else if (what == "zeroed") {
    for (int n = 0; n < 1000; ++n) {
      volatile auto* const object = static_cast<char*>(std::calloc(1, 200'000));
      object[100'000] = 1;
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Stopwatch stopwatch;
  if (argc != 2 || !run(argv[1])) workload::usage(kUsage);
  const double ms = stopwatch.elapsed_ms(), cpu_ms = stopwatch.cpu_ms();
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  workload::print_json(
      argc, argv,
      {{"ms", ms}, {"cpu_ms", cpu_ms}, {"peak_mib", static_cast<double>(usage.ru_maxrss) / 1024}});
}
