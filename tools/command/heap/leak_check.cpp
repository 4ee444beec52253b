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

#include "tools/command/failure.h"
#include "tools/command/heap/leak_search.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/standard_error.h"

namespace pktmalloc {
namespace {

constexpr size_t kMostRows = 20;

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
  const auto [usual, without_proc] = addresses_of(Process(getpid()));
  listeners_[1] = listener_at(without_proc);  // or another container's has the name
  listeners_[0] = listener_at(usual);
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
    tell(fmt::format("leak check: nobody can ask any more: {}", strerror(errno)));
    for (std::atomic<int>& each : listeners_) close(each.exchange(-1));  // or programs would wait
    return false;
  }
  return true;
}

void LeakCheck::attend(int client) {
  const pid_t pid = peer_of(client);
  const unsigned char answer = descends_from_us(pid) ? answer_to(pid) : 0;
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
    if (found.report.rows.empty() && found.report.guarded_objects == 0) return 0;
    const std::string head = head_text(subject, found.objects, found.bytes);
    fputs(fmt::format("pktmalloc: {} at exit\n{}", head, found.report.text(kMostRows)).c_str(),
          stderr);
    return found.report.is_certain() ? static_cast<unsigned char>(status_) : 0;
  } catch (const Failure& failure) {
    tell(fmt::format("leak check: {}", failure.what()));
    return 0;
  }
}

void LeakCheck::end(pid_t child, int status) {
  shutdown(listeners_[0], SHUT_RD);
  thread_.join();
  if (listeners_[0] < 0 || asked_.contains(child)) return;
  tell(fmt::format("leak check: process {} {}: nobody looked for leaks", child,
                   WIFSIGNALED(status) ? "was ended by a signal"
                                       : "ended without exit handlers, or without the library"));
}

}  // namespace pktmalloc
