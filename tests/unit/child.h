// SPDX-License-Identifier: MIT
// Child: a forked process that runs a few lines and ends, for what must abort, what a resource
// limit must refuse, and what must go on after a fork. The lines may not use Catch2; they answer
// with an exit status, 0 = as wanted, else the number of the step that was not.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace pktmalloc::test {

struct Ending {
  int status;  // of exit; -1 when a signal ended it
  int signal;  // 0 when it exited
};

template <typename Body>
Ending end_of_child(Body&& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const int fatal : {SIGABRT, SIGSEGV}) signal(fatal, SIG_DFL);  // not Catch2's handlers
    _exit(body());
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return {-1, -1};
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

// A line of /proc/self/status in bytes, as "VmData" or "VmSize".
inline size_t process_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

// Lets the process have `more` bytes than it has; ~0: what the hard limit allows.
inline void limit_to(int resource, size_t now, size_t more) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_cur = more == ~size_t{0} ? limit.rlim_max : now + more;
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

}  // namespace pktmalloc::test
