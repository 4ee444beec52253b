// SPDX-License-Identifier: MIT
// Preloaded beside the library: has a getpid and a clock_gettime of its own. The first call of
// either allocates. The library asks for its process while it starts, so this object is older than
// the heap. At the end it is resized and freed. And the clock reads a file, which allocates at each
// call, as libfaketime does where FAKETIME_TIMESTAMP_FILE tells the time.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
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
  if (FILE* const file = fopen("/dev/null", "r")) fclose(file);
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}
}
