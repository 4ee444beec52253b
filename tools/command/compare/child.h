// SPDX-License-Identifier: MIT
// Child: a command that was started and is waited for, and can be ended with all it started: it has
// a session of its own. SIGINT, SIGTERM and SIGHUP interrupt a wait.
#pragma once

#include <poll.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace pktmalloc {

// Ends of a pipe, closed with it.
struct Pipe {
  int ends[2];
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(int i);
};

// The signals that wake the parent, blocked but while it waits: none is lost in between.
class BlockedSignals {
 public:
  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& before() const { return before_; }
  const sigset_t& waiting() const { return waiting_; }

 private:
  sigset_t before_, waiting_;
};

class Child {
 public:
  using Clock = std::chrono::steady_clock;

  // With `library` in front of what LD_PRELOAD names already; "": nothing. stdin is /dev/null, the
  // other streams are these; -1: discarded. Throws Failure when it cannot be started.
  Child(const std::vector<std::string>& words, const std::string& library, int out, int err,
        const BlockedSignals& blocked);
  // Ends it, if it has not ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool ended();
  // Until it ends, the time comes, an interruption, or something to read in `source`.
  void wait(std::optional<Clock::time_point> until, pollfd* source = nullptr);
  // With its descendants.
  void send(int signal) const;
  // First politely.
  void end();

  // Once it has ended.
  int status() const { return status_; }
  const rusage& usage() const { return usage_; }

 private:
  const sigset_t mask_;  // while it waits
  pid_t pid_;
  bool ended_ = false;
  int status_ = 0;
  rusage usage_{};
};

// "exit status 3", "killed by SIGSEGV"
std::string end_text(int status);

}  // namespace pktmalloc
