// SPDX-License-Identifier: MIT
// Target: what the system would start for a command, found as execvp(3) finds it.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

struct Target {
  std::string file;  // that is loaded: the program, or the interpreter of a script
  // Of scripts, from the command inwards: each is started by the first line of the one before, or
  // by env(1) in it. Empty for a program.
  std::vector<std::string> scripts;
  // Where env(1) is among them: words that start the same without it, in place of the command.
  std::vector<std::string> without_env;
};

// Throws Failure when there is no such command, or it may not be executed.
Target find_target(const std::string& command);

// What a shell script becomes: the command of its last line that begins with exec, where that is a
// plain word, perhaps behind env(1) and variables; "" when there is none.
std::string command_of_exec(const std::string& script);

}  // namespace pktmalloc
