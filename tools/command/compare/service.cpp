// SPDX-License-Identifier: MIT
#include "tools/command/compare/service.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tools/command/compare/child.h"
#include "tools/command/failure.h"
#include "tools/command/system/interruption.h"

namespace pktmalloc {
namespace {

using Clock = Child::Clock;

constexpr auto kReadyWithin = std::chrono::seconds(60);
constexpr auto kStopWithin = std::chrono::seconds(10);
constexpr auto kBetweenTries = std::chrono::milliseconds(20);

std::unique_ptr<Child> start_shell(const std::string& command, bool show,
                                   const BlockedSignals& blocked) {
  const int stream = show ? STDERR_FILENO : -1;
  const std::vector<std::string> words = {"sh", "-c", command};
  return std::make_unique<Child>(words, "", stream, stream, blocked);
}

// Until one of the two ends, the time comes, or an interruption; an unfinished command is ended.
void wait_for(Child& command, Child& server, std::optional<Clock::time_point> until) {
  while (!command.ended() && !server.ended() && !is_interrupted()) {
    if (until && Clock::now() > *until) break;
    command.wait(until);
  }
  command.end();
}

bool is_listened_to(const std::string& port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(descriptor);
  return connected;
}

bool is_ready(const Service& service, Child& server, Clock::time_point limit,
              const BlockedSignals& blocked) {
  if (service.names_port()) return is_listened_to(service.ready);
  const auto asked = start_shell(service.ready, false, blocked);
  wait_for(*asked, server, limit);
  return asked->status() == 0;
}

// "": it is ready.
std::string wait_until_ready(const Service& service, Child& server, const BlockedSignals& blocked) {
  const auto limit = Clock::now() + kReadyWithin;
  for (;;) {
    if (server.ended()) return end_text(server.status()) + " before it was ready";
    if (is_interrupted()) return "interrupted";
    if (is_ready(service, server, limit, blocked)) return "";
    if (Clock::now() > limit) {
      return fmt::format("not ready after {} s", std::chrono::seconds(kReadyWithin).count());
    }
    server.wait(Clock::now() + kBetweenTries);
  }
}

// Signals that end a program which is broken.
bool is_crash(int status) {
  if (!WIFSIGNALED(status)) return false;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGKILL}) {
    if (WTERMSIG(status) == signal) return true;
  }
  return false;
}

void stop(const Service& service, Child& server, bool show, const BlockedSignals& blocked) {
  const auto limit = Clock::now() + kStopWithin;
  if (service.stop.empty()) {
    server.send(SIGTERM);
  } else {
    wait_for(*start_shell(service.stop, show, blocked), server, limit);
  }
  while (!server.ended() && !is_interrupted() && Clock::now() < limit) server.wait(limit);
}

}  // namespace

Execution execute(const Service& service, const std::vector<std::string>& words,
                  const std::string& library, bool show) {
  const BlockedSignals blocked;
  const int stream = show ? STDERR_FILENO : -1;
  Child server(words, library, stream, stream, blocked);
  Execution run;
  run.failure = wait_until_ready(service, server, blocked);
  if (run.failure.empty()) {
    const auto begin = Clock::now();
    const auto load = start_shell(service.load, show, blocked);
    wait_for(*load, server, std::nullopt);
    run.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    if (server.ended()) {
      run.failure = end_text(server.status()) + " under load";
    } else if (load->status() != 0) {
      run.failure = "the load ends by " + end_text(load->status());
    }
  }
  if (!server.ended()) {
    stop(service, server, show, blocked);
    const bool stopped = server.ended();
    server.end();
    if (run.failure.empty() && !stopped) {
      run.failure = fmt::format("it did not stop within {} s", kStopWithin.count());
    }
    if (run.failure.empty() && is_crash(server.status())) {
      run.failure = end_text(server.status()) + " when it was stopped";
    }
  }
  run.use(server.usage());
  return run;
}

void prepare(const std::string& command, bool show) {
  const BlockedSignals blocked;
  const auto child = start_shell(command, show, blocked);
  while (!child->ended() && !is_interrupted()) child->wait(std::nullopt);
  if (is_interrupted() || child->status() == 0) return;
  throw Failure("--prepare '{}' fails ({}): see why with --show", command,
                end_text(child->status()));
}

}  // namespace pktmalloc
