// SPDX-License-Identifier: MIT
// Programs that lower their RLIMIT_AS, once and once more, get most of what is left.
#include <sys/resource.h>

#include <cstdlib>
#include <thread>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

void lower_to(size_t mib) {
  const rlimit limit{mib * kMiB, RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) abort();
  void* const large = malloc((mib - 84) * kMiB);
  if (large == nullptr) abort();
  free(large);
  std::thread([] { free(malloc(100)); }).join();
}

}  // namespace

int main() {
  free(malloc(100));
  lower_to(800);
  lower_to(600);
}
