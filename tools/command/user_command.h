// SPDX-License-Identifier: MIT
// UserCommand: the words of the command that a subcommand such as `run` is to start. They stand
// behind its options, or behind "--", and reach the program as they were typed: they are cut off
// before CLI11, which takes some apart ("[a,b]"), sees them.
#pragma once

#include <string>
#include <vector>

#include "tools/command/command_line.h"

namespace pktmalloc {

struct UserCommand : std::vector<std::string> {
  using vector::vector;
  bool behind_dashes = false;
};

// Cuts them off `arguments`, the first of which is the name of `subcommand`.
UserCommand cut_user_command(const Subcommand& subcommand, std::vector<std::string>& arguments);

}  // namespace pktmalloc
