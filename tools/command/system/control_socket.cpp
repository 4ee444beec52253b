// SPDX-License-Identifier: MIT
#include "tools/command/system/control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "tools/command/failure.h"
#include "tools/command/system/environment.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

using namespace std::chrono_literals;

constexpr auto kBeginning = 5s;  // in which a process starts its thread, or takes another client
constexpr auto kCalling = 2s;    // in which one of its threads comes by
constexpr auto kLook = 500ms;    // longer than another command stops a process to look at it
constexpr auto kPatience = 60s;  // a report may go to a slow file

bool connects(int socket, const control::Address& address) {
  return connect(socket, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0;
}

// Names are those of the process's network.
void enter_network(const Process& process) {
  if (process.shares("net")) return;
  const int net = open(process.file("ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  const bool entered = net >= 0 && setns(net, CLONE_NEWNET) == 0;
  close(net);
  if (!entered) {
    throw Failure("process {} is in another network namespace, which only root may enter",
                  process.pid());
  }
}

}  // namespace

ControlSocket::ControlSocket(const Process& process, const std::function<void()>& call)
    : pid_(process.pid()), socket_(-1) {
  for (auto waited = 0ms; waited < kLook && process.is_stopped(); waited += 20ms)
    std::this_thread::sleep_for(20ms);
  if (process.is_stopped()) {
    const std::string advice = process.is_traced()
                                   ? "its debugger can let it go on"
                                   : fmt::format("kill -CONT {} lets it go on", pid_);
    throw Failure("process {} is stopped and does nothing that it is told; {}", pid_, advice);
  }
  enter_network(process);
  open_socket();
  try {
    connect_to(process, call);
  } catch (...) {
    close(socket_);
    throw;
  }
}

ControlSocket::~ControlSocket() { close(socket_); }

void ControlSocket::connect_to(const Process& process, const std::function<void()>& call) {
  const std::string control = control_of(process);
  if (control == "never") {
    throw Failure("process {} obeys nobody: it was started with PKTMALLOC_CONTROL=never", pid_);
  }
  const bool wanted = control == "1";
  const auto patience = wanted ? kBeginning : call ? kCalling : 0s;
  const auto end = std::chrono::steady_clock::now() + patience;
  bool called = wanted || !call;
  for (;;) {
    const auto [usual, without_proc] = addresses_of(process);
    if (connects(socket_, usual)) break;
    const int error = errno;
    if (error == ECONNREFUSED && connects(socket_, without_proc)) {
      // Processes of other namespaces, with the same number, may have this name.
      if (peer_of(socket_) == pid_) break;
      close(socket_);
      open_socket();
    }
    if (error == EAGAIN) throw Failure("process {} does not answer: others wait for it", pid_);
    if (!std::exchange(called, true)) call();
    if (error != ECONNREFUSED || std::chrono::steady_clock::now() > end) {
      throw Failure("process {} does not listen: {}", pid_,
                    wanted ? "it is a child that has not asked for memory since its fork, or its "
                             "stderr says why"
                    : call ? "none of its threads came by for memory within two seconds; it does "
                             "once one has, so tell it again"
                           : "start it with PKTMALLOC_CONTROL=1, or by: pktmalloc run --control");
    }
    std::this_thread::sleep_for(10ms);
  }
  // Anybody may take a free name.
  if (const pid_t peer = peer_of(socket_); peer != pid_) {
    throw Failure("process {} does not listen: process {} has taken its name", pid_, peer);
  }
}

void ControlSocket::open_socket() {
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw Failure("there is no socket: {}", strerror(errno));
  const timeval wait{kBeginning.count(), 0};
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
}

std::string ControlSocket::ask(const std::string& order) const {
  if (order.size() > control::kMostOrderBytes) throw Failure("the order is too long");
  char answer[control::kMostAnswerBytes];
  pollfd come{socket_, POLLIN, 0};
  ssize_t got = -1;
  if (send(socket_, order.data(), order.size(), MSG_NOSIGNAL) >= 0 || errno == EPIPE) {
    for (auto waited = 0s; poll(&come, 1, 1000) == 0; ++waited) {
      if (Process(pid_).is_stopped()) {
        throw Failure(
            "process {} was stopped before it answered; it follows the order when it "
            "goes on",
            pid_);
      }
      if (waited >= kPatience) {
        throw Failure("process {} has not answered for {} seconds", pid_, kPatience.count());
      }
    }
    got = recv(socket_, answer, sizeof answer, 0);
    // It did not want to hear the order; its answer is there all the same.
    if (got < 0 && errno == ECONNRESET) got = recv(socket_, answer, sizeof answer, 0);
  }
  if (got <= 0)
    throw Failure("process {} has ended, or is busy with others, without an answer", pid_);
  const std::string text = printable(std::string(answer + 1, static_cast<size_t>(got) - 1));
  if (answer[0] != control::kDone) throw Failure("process {}: {}", pid_, text);
  return text;
}

std::array<control::Address, 2> addresses_of(const Process& process) {
  const pid_t pid = process.innermost_pid();
  return {control::Address(process.name_space("pid"), pid), control::Address(0, pid)};
}

pid_t peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  return peer.pid;
}

std::string control_of(const Process& process) {
  std::ifstream file(process.file("environ"), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string value = value_of(parse_environment(text), "PKTMALLOC_CONTROL");
  return value.empty() ? "0" : value;
}

bool is_controlled(const Process& process) {
  const std::array<control::Address, 2> addresses = addresses_of(process);
  std::ifstream sockets(process.file("net/unix"));
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find('@');
    if (at == std::string::npos) continue;
    for (const control::Address& address : addresses) {
      if (line.substr(at + 1) == address.name.sun_path + 1) return true;
    }
  }
  return false;
}

}  // namespace pktmalloc
