// SPDX-License-Identifier: MIT
#include "tools/command/system/interruption.h"

#include <csignal>
#include <initializer_list>

namespace pktmalloc {
namespace {

volatile sig_atomic_t interrupted = 0;

}  // namespace

void expect_interruption() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  action.sa_handler = [](int) {};  // so that it interrupts a wait
  sigaction(SIGCHLD, &action, nullptr);
}

bool is_interrupted() { return interrupted != 0; }

}  // namespace pktmalloc
