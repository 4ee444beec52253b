// SPDX-License-Identifier: MIT
#include "tools/command/exporter/confined.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kPatienceSeconds = 20;
constexpr rlim_t kMostMemory = rlim_t{1} << 30;
constexpr size_t kMostBytes = size_t{64} << 20;  // of an answer

[[noreturn]] void become_confined(const char* option, const char* pid, int out) {
  alarm(kPatienceSeconds);
  const rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_DATA, &memory);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execl("/proc/self/exe", "pktmalloc", "exporter", option, pid, nullptr);
  _exit(127);
}

// Is there something to read, before the deadline?
bool await(int fd, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd ready{fd, POLLIN, 0};
  return left.count() > 0 && poll(&ready, 1, static_cast<int>(left.count())) > 0;
}

}  // namespace

void take_rights_of(const Process::User& user) {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(user.gid, user.gid, user.gid) != 0 ||
      setresuid(user.uid, user.uid, user.uid) != 0) {
    throw Failure("cannot become user {}: {}", user.uid, strerror(errno));
  }
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3]{};
  bool done = syscall(SYS_capget, &head, words) == 0;
  for (unsigned i = 0; i < std::size(words); ++i) {
    const auto allowed = static_cast<uint32_t>(user.capabilities >> 32 * i);
    words[i].effective &= allowed;
    words[i].permitted &= allowed;
    words[i].inheritable = 0;
  }
  done = done && syscall(SYS_capset, &head, words) == 0;
  if (!done) throw Failure("cannot give up capabilities: {}", strerror(errno));
}

ConfinedAnswer ask_confined(const char* option, pid_t pid) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {false, strerror(errno)};
  const std::string id = std::to_string(pid);
  const pid_t child = fork();
  if (child == 0) become_confined(option, id.c_str(), ends[1]);
  close(ends[1]);
  ConfinedAnswer answer;
  // Its alarm does not end one that its user has stopped.
  const auto deadline = Clock::now() + std::chrono::seconds(kPatienceSeconds + 2);
  char buffer[65536];
  ssize_t got = -1;
  while (child > 0 && answer.text.size() <= kMostBytes && await(ends[0], deadline) &&
         (got = read(ends[0], buffer, sizeof buffer)) > 0) {
    answer.text.append(buffer, static_cast<size_t>(got));
  }
  if (child > 0 && got != 0) kill(child, SIGKILL);
  close(ends[0]);
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return {false, "cannot start a process"};
  answer.done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!answer.done && !WIFEXITED(status)) {
    answer.text =
        fmt::format("process {} could not be read in {} seconds, or it has too much to tell", pid,
                    kPatienceSeconds);
  }
  return answer;
}

}  // namespace pktmalloc
