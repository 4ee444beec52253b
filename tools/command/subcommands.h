// SPDX-License-Identifier: MIT
// The subcommands, a file each. add_NAME() describes its options to the command line and sets what
// is done when it is chosen. What goes wrong is thrown as Failure; a callback that wants another
// exit status than 0 throws ExitStatus.
#pragma once

#include "tools/command/command_line.h"
#include "tools/command/user_command.h"

namespace pktmalloc {

// Where `words` are taken, they are filled before the callback is called.
void add_compare(CommandLine& command, const UserCommand& words);
void add_doctor(CommandLine& command);
void add_report(CommandLine& command);
void add_run(CommandLine& command, const UserCommand& words);
void add_replay(CommandLine& command);
void add_profile(CommandLine& command);
void add_stat(CommandLine& command);
void add_objects(CommandLine& command);
void add_leaks(CommandLine& command);
void add_top(CommandLine& command);
void add_tell(CommandLine& command);
void add_exporter(CommandLine& command);
void add_tune(CommandLine& command);
void add_recover(CommandLine& command);

}  // namespace pktmalloc
