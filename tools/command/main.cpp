// SPDX-License-Identifier: MIT
// The pktmalloc command: programs under the library are run, checked, compared, watched.
//
// Exit status 2 with one line on stderr for whatever cannot be done.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "tools/command/command_line.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/user_command.h"

namespace {

// Else a file or pipe of ours would get the number of a standard stream that is closed. What holds
// it can be neither read nor written, and a program that we start finds the stream closed.
void hold_closed_streams() {
  int held = 0;
  while ((held = open("/", O_PATH | O_CLOEXEC)) >= 0 && held <= STDERR_FILENO) {
  }
  close(held);
}

// `report profile` is `profile`, also behind `help`.
void shorten_report_profile(std::vector<std::string>& words) {
  const size_t at = !words.empty() && words[0] == "help" ? 1 : 0;
  if (words.size() < at + 2 || words[at] != "report" || words[at + 1] != "profile") return;
  words.erase(words.begin() + static_cast<ptrdiff_t>(at));
}

// Its exit status.
int execute(std::vector<std::string> arguments) {
  pktmalloc::CommandLine command(
      "pktmalloc", "pktmalloc: run programs with the packet allocator, and see what it does.");
  command.version("pktmalloc " PKTMALLOC_VERSION);
  command.footer("pktmalloc SUBCOMMAND --help tells the options of each, with an example.");
  pktmalloc::UserCommand words;
  pktmalloc::add_run(command, words);
  pktmalloc::add_doctor(command);
  pktmalloc::add_compare(command, words);
  pktmalloc::add_report(command);
  pktmalloc::add_replay(command);
  pktmalloc::add_profile(command);
  pktmalloc::add_stat(command);
  pktmalloc::add_objects(command);
  pktmalloc::add_leaks(command);
  pktmalloc::add_top(command);
  pktmalloc::add_exporter(command);
  pktmalloc::add_tune(command);
  pktmalloc::add_tell(command);
  pktmalloc::add_recover(command);
  if (arguments.empty()) arguments = {"--help"};
  shorten_report_profile(arguments);
  if (!arguments.empty() && arguments.size() <= 2 && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  for (const char* name : {"run", "compare"}) {
    if (!arguments.empty() && arguments[0] == name) {
      words = pktmalloc::cut_user_command(command.subcommand(name), arguments);
    }
  }
  return command.execute(std::move(arguments));
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  try {
    const int status = execute({argv + 1, argv + argc});
    pktmalloc::flush_standard_output();
    return status;
  } catch (const std::filesystem::filesystem_error& failure) {
    const std::string path = failure.path1();
    pktmalloc::tell(fmt::format("cannot find {}: {}", path.empty() ? "the current folder" : path,
                                failure.code().message()));
  } catch (const std::system_error& failure) {
    pktmalloc::end_if_unread(failure.code().value());
    pktmalloc::tell(failure.what());
  } catch (const std::exception& failure) {
    pktmalloc::tell(failure.what());
  }
  return 2;
}
