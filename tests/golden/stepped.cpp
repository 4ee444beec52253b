// SPDX-License-Identifier: MIT
// Steps through a child and counts the instructions of a malloc and a free that the thread's own
// list serves: what tests/golden/instructions.txt has of them, also where valgrind does not run.
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/check.h"

namespace {

#ifdef __x86_64__
constexpr int kAllocation = 19, kRelease = 18;
#else
constexpr int kAllocation = 25, kRelease = 26;
#endif

constexpr size_t kBytes = 64;

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

int count(pid_t child, uintptr_t function) {
  while (place_of(child).at != function) CHECK(step(child));
  const uintptr_t end = place_of(child).returns_to;
  int instructions = 0;
  for (; place_of(child).at != end; ++instructions) CHECK(step(child));
  return instructions;
}

}  // namespace

int main() {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    do_one_of_each();
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFSTOPPED(status)) return 77;  // nobody may trace here
  const int allocation = count(child, reinterpret_cast<uintptr_t>(&malloc));
  const int release = count(child, reinterpret_cast<uintptr_t>(&free));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  if (allocation != kAllocation || release != kRelease) {
    fprintf(stderr, "malloc %d instructions, free %d\n", allocation, release);
    return 1;
  }
}
