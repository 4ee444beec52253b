// SPDX-License-Identifier: MIT
// Preloaded in front of the library: each time that it protects memory takes a millisecond more. At
// exit tells on stdout how often.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace {

int times = 0;

__attribute__((destructor)) void tell() { dprintf(STDOUT_FILENO, "protected %d\n", times); }

}  // namespace

extern "C" int mprotect(void* at, size_t bytes, int access) noexcept {
  using Clock = std::chrono::steady_clock;
  if (access == PROT_NONE) {
    ++times;
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(1);
    while (Clock::now() < end) continue;
  }
  return static_cast<int>(syscall(SYS_mprotect, at, bytes, access));
}
