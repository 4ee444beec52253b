// SPDX-License-Identifier: MIT
// Preloaded in front of the library: its calls of mmap, mprotect and madvise come here, and of
// those that REFUSE names ("mprotect 3 7": of mprotect the third to the seventh; "any": of all
// three) each is refused with ENOMEM. libc and the loader call their own. At exit tells on stdout
// how many.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<unsigned long> calls{0}, refused{0};
std::atomic<bool> stopped{false};

bool refuse(const char* call) {
  const char* wish = getenv("REFUSE");
  char name[16];
  unsigned long first = 0;
  unsigned long last = 0;
  if (wish == nullptr || sscanf(wish, "%15s %lu %lu", name, &first, &last) != 3) return false;
  if (strcmp(name, "any") != 0 && strcmp(name, call) != 0) return false;
  const unsigned long mine = ++calls;
  if (stopped.load() || mine < first || mine > last) return false;
  ++refused;
  errno = ENOMEM;
  return true;
}

__attribute__((destructor)) void tell() {
  char line[64];
  const int length = snprintf(line, sizeof line, "refused %lu\n", refused.load());
  if (write(STDOUT_FILENO, line, static_cast<size_t>(length)) < 0) abort();
}

}  // namespace

extern "C" {

// For the program: from now on everything is granted.
void stop_refusing() { stopped.store(true); }

void* mmap(void* at, size_t bytes, int access, int flags, int fd, off_t offset) noexcept {
  if (refuse("mmap")) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, access, flags, fd, offset));
}

int mprotect(void* at, size_t bytes, int access) noexcept {
  return refuse("mprotect") ? -1 : static_cast<int>(syscall(SYS_mprotect, at, bytes, access));
}

int madvise(void* at, size_t bytes, int advice) noexcept {
  return refuse("madvise") ? -1 : static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
}
