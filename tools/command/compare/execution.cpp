// SPDX-License-Identifier: MIT
#include "tools/command/compare/execution.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tools/command/failure.h"
#include "tools/command/system/read_all.h"

namespace pktmalloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(2);  // from SIGTERM to SIGKILL

volatile sig_atomic_t interrupted = 0;

double milliseconds(timeval time) {
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
}

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw Failure("no pipe: {}", strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
};

std::string preload_behind(const std::string& library) {
  const char* const there = getenv("LD_PRELOAD");
  return there != nullptr && *there != '\0' ? library + ":" + there : library;
}

// The signals that wake the parent, blocked but while it waits: none is lost in between.
sigset_t waking_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

struct Blocked {
  sigset_t before;
  Blocked() {
    const sigset_t waking = waking_signals();
    sigprocmask(SIG_BLOCK, &waking, &before);
  }
  ~Blocked() { sigprocmask(SIG_SETMASK, &before, nullptr); }
};

// In the child; never returns. `told` gets errno if the command cannot be started.
[[noreturn]] void become(const std::vector<std::string>& words, const std::string& library,
                         const sigset_t& mask, int out, int err, int told) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (!library.empty()) setenv("LD_PRELOAD", preload_behind(library).c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t wrote = write(told, &error, sizeof error);
  _exit(127);
}

// What a command writes, read as it comes.
class Output {
 public:
  Output(int descriptor, bool show) : descriptor_(descriptor), show_(show) {
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
  }
  // What is there; false at the end.
  bool read_some() {
    for (;;) {
      const ssize_t got = read(descriptor_, buffer_, sizeof buffer_);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) return false;
      for (ssize_t i = 0; i < got; ++i) {  // FNV-1a
        hash_ = (hash_ ^ static_cast<unsigned char>(buffer_[i])) * 0x100000001b3;
      }
      if (show_) {
        [[maybe_unused]] const ssize_t wrote =
            write(STDERR_FILENO, buffer_, static_cast<size_t>(got));
      }
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  int descriptor_;
  bool show_;
  uint64_t hash_ = 0xcbf29ce484222325;
  char buffer_[1 << 16];
};

// Until the child has ended. An interruption ends it, first politely. Its descendants may keep the
// pipe open: they are not waited for.
void wait_for(pid_t child, int descriptor, Output& output, const sigset_t& mask, int& status,
              rusage& usage) {
  pollfd pipe{descriptor, POLLIN, 0};
  bool is_asked = false;
  Clock::time_point end;
  for (;;) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child) return;
    if (interrupted && !is_asked) {
      kill(-child, SIGTERM);
      end = Clock::now() + kGrace;
      is_asked = true;
    } else if (is_asked && Clock::now() >= end) {
      kill(-child, SIGKILL);
    }
    const timespec tenth{0, 100'000'000};
    if (ppoll(&pipe, 1, is_asked ? &tenth : nullptr, &mask) > 0 && !output.read_some()) {
      pipe.fd = -1;  // closed; the program may go on
    }
  }
}

pid_t start(const std::vector<std::string>& words, const std::string& library, const sigset_t& mask,
            int out, int err) {
  Pipe told;
  const pid_t child = fork();
  if (child < 0) throw Failure("cannot start a process: {}", strerror(errno));
  if (child == 0) become(words, library, mask, out, err, told.ends[1]);
  told.close_end(1);
  int error = 0;
  if (read(told.ends[0], &error, sizeof error) == sizeof error) {
    waitpid(child, nullptr, 0);
    throw Failure("cannot run {}: {}", words[0], strerror(error));
  }
  return child;
}

}  // namespace

std::string Execution::failure() const {
  if (WIFEXITED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const char* const name = sigabbrev_np(WTERMSIG(status));
  return fmt::format("killed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)));
}

Execution execute(const std::vector<std::string>& words, const std::string& library, bool show) {
  const Blocked blocked;
  Pipe out;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  // A child begins with the peak of the process it is forked from: ours is small, and only what
  // fork copies counts.
  const auto begin = Clock::now();
  const pid_t child =
      start(words, library, blocked.before, out.ends[1], show ? STDERR_FILENO : nowhere);
  out.close_end(1);
  close(nowhere);
  Output output(out.ends[0], show);
  Execution run;
  rusage usage{};
  wait_for(child, out.ends[0], output, blocked.before, run.status, usage);
  run.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  output.read_some();
  run.cpu_ms = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
  run.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  run.faults = static_cast<double>(usage.ru_minflt + usage.ru_majflt);
  run.output = output.hash();
  return run;
}

void expect_interruption() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  action.sa_handler = [](int) {};  // so that it interrupts a wait
  sigaction(SIGCHLD, &action, nullptr);
}

bool is_interrupted() { return interrupted != 0; }

std::string objection_to(const std::string& library) {
  const Blocked blocked;
  Pipe err;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const pid_t child =
      start({"/proc/self/exe", "--version"}, library, blocked.before, nowhere, err.ends[1]);
  err.close_end(1);
  close(nowhere);
  const std::string text = read_all(err.ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return "a program does not start under it";
  return text.find(library) == std::string::npos ? "" : text.substr(0, text.find('\n'));
}

}  // namespace pktmalloc
