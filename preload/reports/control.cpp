// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/formats/control.h"
#include "preload/reports/report.h"

namespace pktmalloc {
namespace {

constexpr unsigned kMostClients = 8;
constexpr int kPauseMs = 10;  // after what others might repeat without end

// The listener, and behind it the clients that are connected, the oldest first.
pollfd sockets[1 + kMostClients];
unsigned count = 0;

control::Address address_of(int pid) {
  // A child of fork may have no /proc any more, and then has its parent's.
  static uint64_t pid_namespace = 0;
  struct stat found;
  if (status_of("/proc/self/ns/pid", &found) == 0) pid_namespace = found.st_ino;
  return {pid_namespace, pid};
}

int new_socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

void keep(int socket) { sockets[count++] = {socket, POLLIN, 0}; }

void drop(unsigned number) {
  close(sockets[number].fd);
  std::copy(sockets + number + 1, sockets + count, sockets + number);
  --count;
}

// A socket that is connected, or not if nobody is there; -1: there is none.
int visit(int pid) {
  const control::Address address = address_of(pid);
  const int visitor = new_socket();
  static_cast<void>(
      connect(visitor, reinterpret_cast<const sockaddr*>(&address.name), address.bytes));
  return visitor;
}

void pause_briefly() { poll(nullptr, 0, kPauseMs); }

void send_answer(int client, char* answer, size_t bytes) {
  hide_controls(answer, bytes);
  send(client, answer, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// As for a debugger: a process that has changed its user may hold more than that user may see.
const char* objection(int client) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return "who asks is unknown";
  if (peer.uid != geteuid() && peer.uid != 0) return "the process belongs to another user";
  const bool allowed = peer.uid == 0 || prctl(PR_GET_DUMPABLE) == 1;
  return allowed ? nullptr : "the process is protected: only root may tell it";
}

// Too long a text arrives cut, and is not understood.
void serve(int client) {
  static char order[control::kMostOrderBytes + 1];
  static char answer[control::kMostAnswerBytes];
  const ssize_t got = recv(client, order, sizeof order - 1, MSG_DONTWAIT);
  if (got <= 0) return;
  order[got] = '\0';
  Writer out(answer + 1, sizeof answer - 1);
  answer[0] = obey(order, out) ? control::kDone : control::kRefused;
  out.finish();
  send_answer(client, answer, 1 + std::min(out.length(), sizeof answer - 2));
}

void admit() {
  const int client = accept4(sockets[0].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) {
    if (count > 1) drop(1);  // perhaps it had the last descriptor
    return pause_briefly();
  }
  if (const char* const why = objection(client)) {
    char answer[100] = {control::kRefused};
    send_answer(client, answer, 1 + strlen(strcpy(answer + 1, why)));
    close(client);
    return pause_briefly();
  }
  if (count > kMostClients) drop(1);
  keep(client);
}

}  // namespace

bool open_control() {
  count = 0;
  const control::Address address = address_of(getpid());
  const int listener = new_socket();
  if (listener >= 0 &&
      bind(listener, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0 &&
      listen(listener, kMostClients) == 0) {
    // What others write to a standard stream must not reach a client.
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
      if (fcntl(fd, F_GETFD) < 0) dup2(listener, fd);
    }
    keep(listener);
    return true;
  }
  message("pktmalloc tell cannot reach this process: %s", error_text(errno));
  if (listener >= 0) close(listener);
  return false;
}

void serve_control(int ms) {
  if (poll(sockets, count, ms) <= 0) return;
  for (unsigned i = count; --i > 0;) {
    if (sockets[i].revents == 0) continue;
    serve(sockets[i].fd);
    drop(i);
  }
  if (sockets[0].revents != 0) admit();
}

void knock_at_control() { close(visit(getpid())); }

uint8_t ask_for_leaks(int pid) {
  const int visitor = visit(pid);
  pollfd come{visitor, POLLIN, 0};
  uint8_t status = 0;
  if (visitor >= 0 && objection(visitor) == nullptr) {
    while (poll(&come, 1, -1) < 0 && errno == EINTR) {
    }
    recv(visitor, &status, sizeof status, 0);
  }
  close(visitor);
  return status;
}

}  // namespace pktmalloc
