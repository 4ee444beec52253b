// SPDX-License-Identifier: MIT
// Orders to a process that runs with PKTMALLOC_CONTROL=1, as pktmalloc tell gives them, from
// programs that tell themselves.
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

// A connection; waits until the process listens.
static inline int connect_to_control(pid_t pid) {
  struct stat pids;
  CHECK(stat("/proc/self/ns/pid", &pids) == 0);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "pktmalloc/%lu/%d",
                              (unsigned long)pids.st_ino, pid);
  const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  const int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  CHECK(s >= 0);
  while (connect(s, (struct sockaddr*)&name, bytes) != 0) {
    CHECK(errno == ECONNREFUSED);
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
  }
  return s;
}

// It is done, and the answer is there.
static inline void tell(pid_t pid, const char* order) {
  char answer[5000];
  const int s = connect_to_control(pid);
  CHECK(send(s, order, strlen(order), MSG_NOSIGNAL) == (ssize_t)strlen(order));
  CHECK(recv(s, answer, sizeof answer, 0) > 0);
  CHECK(answer[0] == '+');
  close(s);
}
