// SPDX-License-Identifier: MIT
// ControlSocket: a connection to a process that obeys `pktmalloc tell`
// (preload/formats/control.h), for one order. Failures name the process and say what to do.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "preload/formats/control.h"
#include "tools/command/system/process.h"

namespace pktmalloc {

class ControlSocket {
 public:
  // If the process has only begun, waits for it. If it was started without control, calls `call`,
  // if any, which has it listen once it can, and waits for that. Throws Failure: it is gone,
  // protected or another user's, or does not listen; and what `call` throws.
  ControlSocket(const Process& process, const std::function<void()>& call = nullptr);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // What came of it. Throws Failure if nothing did.
  std::string ask(const std::string& order) const;

 private:
  void connect_to(const Process& process, const std::function<void()>& call);
  void open_socket();

  pid_t pid_;
  int socket_;
};

// The name at which it listens, and what that is where a chroot had hidden /proc from it before.
std::array<control::Address, 2> addresses_of(const Process& process);

// The process at the other end of a connection; 0: the system does not tell.
pid_t peer_of(int socket);

// PKTMALLOC_CONTROL as the process was started with; "0" without.
std::string control_of(const Process& process);

// Does the process listen, as far as this user can see?
bool is_controlled(const Process& process);

}  // namespace pktmalloc
