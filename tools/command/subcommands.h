// SPDX-License-Identifier: MIT
// The subcommands, a file each. add_NAME() describes its options to the command line and sets what
// is done when it is chosen. What goes wrong is thrown as Failure; a callback that wants another
// exit status than 0 throws CLI::RuntimeError(status).
#pragma once

#include <CLI/CLI.hpp>

namespace pktmalloc {

void add_stat(CLI::App& command);

}  // namespace pktmalloc
