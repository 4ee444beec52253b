// SPDX-License-Identifier: MIT
// The pktmalloc command: programs under the library are run, checked, compared, watched.
//
// Exit status 2 with one line on stderr for whatever cannot be done.
#include <cstdio>

#include "preload/pktmalloc.h"
#include "tools/command/failure.h"
#include "tools/command/subcommands.h"

int main(int argc, char** argv) {
  CLI::App command("pktmalloc: run programs with the packet allocator, and see what it does.");
  command.name("pktmalloc");
  command.set_version_flag("--version", "pktmalloc " PKTMALLOC_VERSION);
  command.require_subcommand(1);
  command.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("pktmalloc: {}\n", error.what());
  });
  pktmalloc::add_stat(command);
  try {
    command.parse(argc, argv);
  } catch (const CLI::RuntimeError& ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return command.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "pktmalloc: {}\n", failure.what());
    return 2;
  }
  return 0;
}
