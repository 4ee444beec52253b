// SPDX-License-Identifier: MIT
// While realloc tells of damage that it found, and waits for whoever reads standard error, another
// thread frees the object. So realloc does not get it, and says so.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "../programs/check.h"

namespace {

bool sleeps(pid_t thread) {
  char state[64] = "";
  const std::string name = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t length = read(file, state, sizeof state - 1);
  close(file);
  return length > 0 && std::string(state).find(") S ") != std::string::npos;
}

}  // namespace

int main() {
  const int told = dup(2);
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0 && dup2(pipe_ends[1], 2) == 2);
  const std::string full(fcntl(2, F_GETPIPE_SZ), ' ');
  CHECK(write(2, full.data(), full.size()) == static_cast<ssize_t>(full.size()));

  char* const object = static_cast<char*>(malloc(100));
  const char behind = object[100];
  object[100] = 'A';
  std::atomic<pid_t> reallocating = 0;
  void* result = object;
  std::thread thread([&] {
    reallocating = gettid();
    result = realloc(object, 99);
  });
  while (reallocating == 0 || !sleeps(reallocating)) usleep(1000);
  object[100] = behind;
  free(object);
  CHECK(dup2(told, 2) == 2 && close(pipe_ends[1]) == 0);
  std::string text(full.size(), ' ');
  for (size_t skip = full.size();;) {
    const ssize_t length = read(pipe_ends[0], text.data(), text.size());
    if (length <= 0) break;
    const size_t skipped = std::min(skip, static_cast<size_t>(length));
    skip -= skipped;
    const size_t rest = static_cast<size_t>(length) - skipped;
    CHECK(write(2, text.data() + skipped, rest) == static_cast<ssize_t>(rest));
  }
  thread.join();
  CHECK(result == nullptr);
}
