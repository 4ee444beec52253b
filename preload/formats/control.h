// SPDX-License-Identifier: MIT
// Control: how `pktmalloc tell` reaches a process that was started with PKTMALLOC_CONTROL=1.
//
// The process listens at a name in the abstract name space of its network namespace. The name holds
// the process id and the inode of its PID namespace, so containers that share a network do not
// share names. A connection (SOCK_SEQPACKET) carries one packet each way: an order, in words with a
// space between and perhaps the pattern of an absolute path as its last; then kDone or kRefused and
// a text of one line, after which it ends.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace pktmalloc::control {

inline constexpr char kDone = '+';
inline constexpr char kRefused = '-';

inline constexpr size_t kMostOrderBytes = PATH_MAX + 32;
inline constexpr size_t kMostAnswerBytes = PATH_MAX + 400;

struct Address {
  sockaddr_un name{};
  socklen_t bytes;

  // Both as inside of the process's own PID namespace.
  Address(uint64_t pid_namespace, int pid) {
    name.sun_family = AF_UNIX;
    // The zero in front is what makes it abstract.
    const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "pktmalloc/%llu/%d",
                                static_cast<unsigned long long>(pid_namespace), pid);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1) +
            static_cast<socklen_t>(length);
  }
};

}  // namespace pktmalloc::control
