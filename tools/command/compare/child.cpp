// SPDX-License-Identifier: MIT
#include "tools/command/compare/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/command/failure.h"
#include "tools/command/system/become.h"

namespace pktmalloc {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);  // from SIGTERM to SIGKILL
constexpr int kWaking[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

std::string preload_behind(const std::string& library) {
  const char* const there = getenv("LD_PRELOAD");
  return there != nullptr && *there != '\0' ? library + ":" + there : library;
}

// In the child; never returns. `told` gets errno if the command cannot be started.
[[noreturn]] void start(const std::vector<std::string>& words, const std::string& library,
                        const sigset_t& mask, int out, int err, int told) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDIN_FILENO);
  dup2(out >= 0 ? out : nowhere, STDOUT_FILENO);
  dup2(err >= 0 ? err : nowhere, STDERR_FILENO);
  if (!library.empty()) setenv("LD_PRELOAD", preload_behind(library).c_str(), 1);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  become(words);
  const int error = errno;
  [[maybe_unused]] const ssize_t wrote = write(told, &error, sizeof error);
  _exit(127);
}

timespec left_until(Child::Clock::time_point until) {
  const auto left = std::max(until - Child::Clock::now(), Child::Clock::duration::zero());
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

}  // namespace

Pipe::Pipe() {
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure("no pipe: {}", strerror(errno));
}

Pipe::~Pipe() {
  close_end(0);
  close_end(1);
}

void Pipe::close_end(int i) {
  if (ends[i] >= 0) close(ends[i]);
  ends[i] = -1;
}

BlockedSignals::BlockedSignals() {
  sigset_t waking;
  sigemptyset(&waking);
  for (const int signal : kWaking) sigaddset(&waking, signal);
  sigprocmask(SIG_BLOCK, &waking, &before_);
  waiting_ = before_;  // who started us may have blocked them
  for (const int signal : kWaking) sigdelset(&waiting_, signal);
}

BlockedSignals::~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

Child::Child(const std::vector<std::string>& words, const std::string& library, int out, int err,
             const BlockedSignals& blocked)
    : mask_(blocked.waiting()) {
  Pipe told;
  pid_ = fork();
  if (pid_ < 0) throw Failure("cannot start a process: {}", strerror(errno));
  if (pid_ == 0) start(words, library, blocked.before(), out, err, told.ends[1]);
  told.close_end(1);
  int error = 0;
  if (read(told.ends[0], &error, sizeof error) == sizeof error) {
    waitpid(pid_, nullptr, 0);
    throw Failure("cannot run {}: {}", words[0], strerror(error));
  }
}

Child::~Child() {
  if (!ended()) end();
}

bool Child::ended() {
  if (!ended_) ended_ = wait4(pid_, &status_, WNOHANG, &usage_) == pid_;
  return ended_;
}

void Child::wait(std::optional<Clock::time_point> until, pollfd* source) {
  if (ended()) return;
  timespec left{};
  if (until) left = left_until(*until);
  ppoll(source, source != nullptr ? 1 : 0, until ? &left : nullptr, &mask_);
}

void Child::send(int signal) const { kill(-pid_, signal); }

void Child::end() {
  if (ended()) return;
  send(SIGTERM);
  const auto limit = Clock::now() + kGrace;
  while (!ended() && Clock::now() < limit) wait(limit);
  while (!ended()) {
    send(SIGKILL);
    wait(Clock::now() + std::chrono::milliseconds(100));
  }
}

std::string end_text(int status) {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* const name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)));
}

}  // namespace pktmalloc
