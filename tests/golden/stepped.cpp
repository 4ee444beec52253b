// SPDX-License-Identifier: MIT
// Steps through a child and counts the instructions of a malloc and a free that the thread's own
// list serves: what tests/golden/instructions.txt has of them, also where valgrind does not run.
//
// `stepped BYTES`: of thousands of calls for a reserved class, while a background thread gives
// memory back and other threads come and go; none may take more than docs/limits.md says.
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "tests/programs/check.h"

namespace {

#ifdef __x86_64__
constexpr int kAllocation = 19, kRelease = 18;
#else
constexpr int kAllocation = 25, kRelease = 26;
#endif

constexpr size_t kBytes = 64;
constexpr int kLongest = 20'000;

void do_one_of_each() {
  for (int i = 0; i < 1000; ++i) {
    void* const two[] = {malloc(kBytes), malloc(kBytes)};
    free(two[0]);
    free(two[1]);
  }
  raise(SIGSTOP);
  free(malloc(kBytes));
  _exit(0);
}

// Other classes, filled and emptied.
void* guest(void*) {
  void* objects[3000];
  for (size_t i = 0; i < std::size(objects); ++i) objects[i] = malloc(i % 1000);
  for (void* const object : objects) free(object);
  return nullptr;
}

void* host(void*) {
  for (pthread_t thread;;) {
    if (pthread_create(&thread, nullptr, guest, nullptr) == 0) pthread_join(thread, nullptr);
  }
}

// Magazines run empty and full; at last the calls come seldom.
void work_with(size_t bytes) {
  static void* objects[1000];
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, host, nullptr) == 0);
  raise(SIGSTOP);
  for (int round = 0; round < 3; ++round) {
    for (void*& object : objects) object = malloc(bytes);
    for (void* const object : objects) free(object);
    usleep(100'000);
  }
  _exit(0);
}

struct Place {
  uintptr_t at, returns_to;  // the latter where a function begins
};

Place place_of(pid_t child) {
  user_regs_struct registers{};
  iovec words{&registers, sizeof registers};
  CHECK(ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &words) == 0);
#ifdef __x86_64__
  return {registers.rip,
          static_cast<uintptr_t>(ptrace(PTRACE_PEEKDATA, child, registers.rsp, nullptr))};
#else
  return {registers.pc, registers.regs[30]};
#endif
}

bool step(pid_t child) {
  int status = 0;
  CHECK(ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0);
  CHECK(waitpid(child, &status, 0) == child);
  return WIFSTOPPED(status);
}

// To the end of the function that begins there.
int count(pid_t child) {
  const uintptr_t end = place_of(child).returns_to;
  int instructions = 0;
  for (; place_of(child).at != end; ++instructions) CHECK(step(child));
  return instructions;
}
int count(pid_t child, uintptr_t function) {
  while (place_of(child).at != function) CHECK(step(child));
  return count(child);
}

int longest(pid_t child, uintptr_t allocation, uintptr_t release) {
  int most = 0;
  while (step(child)) {
    const uintptr_t at = place_of(child).at;
    if (at == allocation || at == release) most = std::max(most, count(child));
  }
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  const auto allocation = reinterpret_cast<uintptr_t>(&malloc);
  const auto release = reinterpret_cast<uintptr_t>(&free);
  const size_t reserved = argc > 1 ? strtoul(argv[1], nullptr, 10) : 0;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    if (reserved != 0) work_with(reserved);
    do_one_of_each();
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFSTOPPED(status)) return 77;  // nobody may trace here
  if (reserved != 0) {
    const int most = longest(child, allocation, release);
    printf("%d instructions\n", most);
    return most > 0 && most <= kLongest ? 0 : 1;
  }
  const int allocated = count(child, allocation);
  const int released = count(child, release);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  if (allocated != kAllocation || released != kRelease) {
    fprintf(stderr, "malloc %d instructions, free %d\n", allocated, released);
    return 1;
  }
}
