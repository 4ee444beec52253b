// SPDX-License-Identifier: MIT
// Preloaded beside the library: has a getpid and a clock_gettime of its own, whose first call
// allocates. The library calls them while it starts, so this object is older than the heap. At the
// end it is resized and freed. (libfaketime does the like.)
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

char* early = nullptr;

void start() {
  if (early == nullptr) early = strcpy(static_cast<char*>(malloc(100)), "early");
}

[[gnu::destructor]] void end() {
  if (early == nullptr) _exit(3);
  early = static_cast<char*>(realloc(early, 1000));
  if (early == nullptr || strcmp(early, "early") != 0) _exit(4);
  free(early);
}

}  // namespace

extern "C" {

pid_t getpid() {
  start();
  return static_cast<pid_t>(syscall(SYS_getpid));
}

int clock_gettime(clockid_t clock, timespec* time) {
  start();
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}
}
