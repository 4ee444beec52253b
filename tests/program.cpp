// SPDX-License-Identifier: MIT
#include "tests/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/patience.h"

namespace {

using Clock = std::chrono::steady_clock;

bool is_ours(const std::string& variable) {
  return variable.rfind("LD_PRELOAD=", 0) == 0 || variable.rfind("PKTMALLOC_", 0) == 0;
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Reads both until they end; false when the time is over before.
bool read_all(int out, int err, Outcome& outcome, Clock::time_point end) {
  pollfd pipes[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[] = {&outcome.out, &outcome.err};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    if (poll(pipes, 2, milliseconds_until(end)) == 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      char buffer[1 << 16];
      const ssize_t got = read(pipes[i].fd, buffer, sizeof buffer);
      if (got > 0) texts[i]->append(buffer, static_cast<size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) pipes[i].fd = -1;
    }
  }
  return true;
}

// A program may close both pipes and go on.
bool wait_for(pid_t child, int& status, Clock::time_point end) {
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) throw std::runtime_error("waitpid failed");
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
  if (outcome.timed_out) stream << "timed out; ";
  if (outcome.signal != 0) stream << "signal " << strsignal(outcome.signal) << "; ";
  return stream << "status " << outcome.status << "\nstdout:\n"
                << outcome.out.substr(0, 4000) << "\nstderr:\n"
                << outcome.err.substr(0, 4000);
}

Program& Program::with(const std::string& name, const std::string& value) {
  environment_[name] = value;
  return *this;
}

Program& Program::preloaded(const std::string& others) {
  return with("LD_PRELOAD", others.empty() ? library_path() : library_path() + " " + others);
}

Program& Program::limit(int resource, rlim_t bytes) {
  limits_[resource] = bytes;
  return *this;
}

Program& Program::in(const std::string& folder) {
  folder_ = folder;
  return *this;
}

// In the child of a process with one thread, so it may allocate.
void Program::become(int out, int err) const {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // those of make, for instance
  if (!folder_.empty() && chdir(folder_.c_str()) != 0) _exit(127);

  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!is_ours(text) && environment_.count(text.substr(0, text.find('='))) == 0) {
      variables.push_back(text);
    }
  }
  for (const auto& [name, value] : environment_) variables.push_back(name + "=" + value);
  std::vector<char*> argv;
  std::vector<char*> environment;
  for (const std::string& argument : argv_) argv.push_back(const_cast<char*>(argument.c_str()));
  for (std::string& variable : variables) environment.push_back(variable.data());
  argv.push_back(nullptr);
  environment.push_back(nullptr);

  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const auto& [resource, bytes] : limits_) {
    rlimit both{};
    getrlimit(static_cast<__rlimit_resource>(resource), &both);
    both.rlim_cur = bytes;
    if (setrlimit(static_cast<__rlimit_resource>(resource), &both) != 0) _exit(126);
  }
  execvpe(argv[0], argv.data(), environment.data());
  _exit(127);
}

Outcome Program::run() const {
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipes");
  }
  const auto end = end_of_patience();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) become(out[1], err[1]);
  setpgid(child, child);
  close(out[1]);
  close(err[1]);

  Outcome outcome;
  int status = 0;
  if (!read_all(out[0], err[0], outcome, end) || !wait_for(child, status, end)) {
    outcome.timed_out = true;
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
  }
  close(out[0]);
  close(err[0]);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

std::string build_path(const std::string& name) {
  return std::filesystem::absolute(PKTMALLOC_BUILD).string() + "/" + name;
}

std::string library_path() { return build_path("libpktmalloc.so"); }

std::string program_path(const std::string& name, const std::string& way) {
  return build_path("tests/bin/" + name + "-" + way);
}

bool installed(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* path = getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}
