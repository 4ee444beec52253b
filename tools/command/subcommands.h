// SPDX-License-Identifier: MIT
// The subcommands, a file each. add_NAME() describes its options to the command line and sets what
// is done when it is chosen. What goes wrong is thrown as Failure; a callback that wants another
// exit status than 0 throws CLI::RuntimeError(status).
#pragma once

#include <CLI/CLI.hpp>

#include "tools/command/user_command.h"

namespace pktmalloc {

// Where `words` are taken, they are filled before the callback is called.
void add_compare(CLI::App& command, const UserCommand& words);
void add_doctor(CLI::App& command);
void add_report(CLI::App& command);
void add_run(CLI::App& command, const UserCommand& words);
void add_replay(CLI::App& command);
void add_profile(CLI::App& command);
void add_stat(CLI::App& command);
void add_top(CLI::App& command);
void add_tell(CLI::App& command);
void add_exporter(CLI::App& command);
void add_tune(CLI::App& command);
void add_recover(CLI::App& command);

}  // namespace pktmalloc
