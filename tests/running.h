// SPDX-License-Identifier: MIT
// Running: a program that runs beside the test until the end of the scope. Its stdin is empty, its
// environment this process's without options of the library, and with what is given.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/patience.h"

class Running {
 public:
  using Environment = std::map<std::string, std::string>;

  explicit Running(std::vector<std::string> argv, const Environment& environment = {}) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    out_ = out[0];
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      unsetenv("LD_PRELOAD");
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> arguments;
      for (std::string& argument : argv) arguments.push_back(argument.data());
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    setpgid(pid_, pid_);
    close(out[1]);
  }
  ~Running() {
    end();
    close(out_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }

  // The rest of the line that begins with `start`; waits for it.
  std::string line(const std::string& start) {
    const auto end = end_of_patience();
    while (std::chrono::steady_clock::now() < end) {
      for (size_t at = 0, next; (next = text_.find('\n', at)) != std::string::npos; at = next + 1) {
        if (text_.compare(at, start.size(), start) == 0) {
          return text_.substr(at + start.size(), next - at - start.size());
        }
      }
      pollfd pipe{out_, POLLIN, 0};
      if (poll(&pipe, 1, 1000) <= 0) continue;
      char buffer[4096];
      const ssize_t got = read(out_, buffer, sizeof buffer);
      if (got <= 0) break;
      text_.append(buffer, static_cast<size_t>(got));
    }
    throw std::runtime_error("no line that begins with " + start + " in: " + text_);
  }

  // With all its children; returns when it is gone.
  void end() {
    if (pid_ < 0) return;
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
  int out_;
  std::string text_;
};
