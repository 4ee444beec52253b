// SPDX-License-Identifier: MIT
#include "tools/command/heap/leak_check.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "preload/formats/control.h"
#include "tools/command/failure.h"
#include "tools/command/heap/leak_search.h"

namespace pktmalloc {
namespace {

constexpr size_t kMostRows = 20;

// Not by fmt::print, which throws when stderr is closed.
void tell(const std::string& text) { fputs(("pktmalloc: " + text).c_str(), stderr); }

// Others may know the name of our socket.
bool descends_from_us(pid_t pid) {
  try {
    for (; pid > 1; pid = std::stoi(Process(pid).field(Process::kParent))) {
      if (pid == getpid()) return true;
    }
  } catch (const Failure&) {
  }
  return false;
}

// -1 with errno: it cannot be.
int listener_at(const control::Address& address) {
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0 &&
      listen(listener, SOMAXCONN) == 0) {
    return listener;
  }
  const int error = errno;
  close(listener);
  errno = error;
  return -1;
}

}  // namespace

LeakCheck::LeakCheck(int status, Suppressions suppressions)
    : status_(status), suppressions_(std::move(suppressions)) {
  const Process self(getpid());
  listeners_[1] = listener_at({0, self.innermost_pid()});  // or another container's has the name
  listeners_[0] = listener_at({self.name_space("pid"), self.innermost_pid()});
  if (listeners_[0] < 0) {
    throw Failure("run: nobody can ask for a leak check: {}", strerror(errno));
  }
  setenv("PKTMALLOC_LEAK_CHECK", std::to_string(getpid()).c_str(), 1);
}

LeakCheck::~LeakCheck() {
  for (const std::atomic<int>& each : listeners_) close(each);
}

// What this command starts, to name source lines for instance, must not ask it.
void LeakCheck::begin() {
  unsetenv("LD_PRELOAD");
  thread_ = std::thread([this] { serve(); });
}

void LeakCheck::serve() {
  for (;;) {
    pollfd come[] = {{listeners_[0], POLLIN, 0}, {listeners_[1], POLLIN, 0}};
    poll(come, std::size(come), -1);
    for (const pollfd& listener : come) {
      if (listener.revents != 0 && !admit(listener.fd)) return;
    }
  }
}

// False: it was the last.
bool LeakCheck::admit(int listener) {
  const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (client >= 0) {
    attend(client);
  } else if (errno == EINVAL) {  // end() has shut it down
    return false;
  } else if (errno != EINTR && errno != ECONNABORTED) {
    tell(fmt::format("leak check: nobody can ask any more: {}\n", strerror(errno)));
    for (std::atomic<int>& each : listeners_) close(each.exchange(-1));  // or programs would wait
    return false;
  }
  return true;
}

void LeakCheck::attend(int client) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes);
  const unsigned char answer = descends_from_us(peer.pid) ? answer_to(peer.pid) : 0;
  send(client, &answer, sizeof answer, MSG_NOSIGNAL);
  close(client);
}

// The status that it is to end with; 0: its own.
unsigned char LeakCheck::answer_to(pid_t pid) {
  asked_.insert(pid);
  try {
    const Subject subject(std::to_string(pid));
    LeakSearch found(subject, false, true);
    found.report.suppress(suppressions_);
    if (found.report.rows.empty()) return 0;
    tell(fmt::format("{} at exit\n{}", head_text(subject, found.objects, found.bytes),
                     found.report.text(kMostRows)));
    return found.report.is_certain() ? static_cast<unsigned char>(status_) : 0;
  } catch (const Failure& failure) {
    tell(fmt::format("leak check: {}\n", failure.what()));
    return 0;
  }
}

void LeakCheck::end(pid_t child, int status) {
  shutdown(listeners_[0], SHUT_RD);
  thread_.join();
  if (listeners_[0] < 0 || asked_.contains(child)) return;
  tell(fmt::format("leak check: process {} {}: nobody looked for leaks\n", child,
                   WIFSIGNALED(status) ? "was ended by a signal"
                                       : "ended without exit handlers, or without the library"));
}

}  // namespace pktmalloc
