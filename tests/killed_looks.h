// SPDX-License-Identifier: MIT
// Commands that look into a process and are killed while they do.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/program.h"

// Starts `pktmalloc SUBCOMMAND PID` again and again and kills it, each time so many microseconds
// later than before, up to `end_us`.
inline void kill_looks(const char* subcommand, const std::string& pid, int end_us, int step_us) {
  for (int after_us = 0; after_us < end_us; after_us += step_us) {
    const pid_t command = fork();
    if (command == 0) {
      const std::string path = build_path("pktmalloc");
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl(path.c_str(), path.c_str(), subcommand, pid.c_str(), nullptr);
      _exit(127);
    }
    usleep(static_cast<useconds_t>(after_us));
    kill(command, SIGKILL);
    waitpid(command, nullptr, 0);
  }
}
