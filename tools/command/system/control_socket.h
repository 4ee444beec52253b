// SPDX-License-Identifier: MIT
// ControlSocket: a connection to a process that obeys `pktmalloc tell`
// (preload/formats/control.h), for one order. Failures name the process and say what to do.
#pragma once

#include <string>

#include "tools/command/system/process.h"

namespace pktmalloc {

class ControlSocket {
 public:
  // Throws Failure: the process is gone, protected or another user's, or does not listen. If it has
  // only begun, waits for it.
  explicit ControlSocket(const Process& process);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // What came of it. Throws Failure if nothing did.
  std::string ask(const std::string& order) const;

 private:
  void connect_to(const Process& process);

  pid_t pid_;
  int socket_;
};

// Does the process listen, as far as this user can see?
bool is_controlled(const Process& process);

}  // namespace pktmalloc
