// SPDX-License-Identifier: MIT
// The pktmalloc command: programs under the library are run, checked, compared, watched.
//
// Exit status 2 with one line on stderr for whatever cannot be done.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "preload/pktmalloc.h"
#include "tools/command/failure.h"
#include "tools/command/subcommands.h"

namespace {

std::string names(const std::vector<const CLI::App*>& subcommands) {
  std::string all;
  for (const CLI::App* s : subcommands) all += (all.empty() ? "" : ", ") + s->get_name();
  return all;
}

std::string names(const std::vector<const CLI::Option*>& options) {
  std::string all;
  for (const CLI::Option* o : options) {
    if (!o->get_positional()) all += (all.empty() ? "" : ", ") + o->get_name();
  }
  return all;
}

// One line: what was not understood, and what would have been.
std::string explanation(const CLI::App& command, const CLI::Error& error) {
  const auto is_any = [](const CLI::App*) { return true; };
  const auto is_chosen = [](const CLI::App* s) { return s->count() > 0; };
  const auto chosen = command.get_subcommands(is_chosen);
  if (chosen.empty()) {
    const std::string all = names(command.get_subcommands(is_any));
    const std::vector<std::string> unknown = command.remaining();
    if (unknown.empty()) return fmt::format("a subcommand is missing: {}", all);
    return fmt::format("there is no {} {}; the {}", unknown[0][0] == '-' ? "option" : "subcommand",
                       unknown[0],
                       unknown[0][0] == '-' ? "options are " + names(command.get_options())
                                            : "subcommands are " + all);
  }
  const CLI::App& app = *chosen.front();
  const std::vector<std::string> unexpected = app.remaining();
  if (unexpected.empty()) return fmt::format("{}: {}", app.get_name(), error.what());
  if (unexpected[0][0] != '-') {
    return fmt::format("{}: {} is one argument too many", app.get_name(), unexpected[0]);
  }
  return fmt::format("{} has no option {}; its options are {}", app.get_name(), unexpected[0],
                     names(app.get_options()));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App command("pktmalloc: run programs with the packet allocator, and see what it does.");
  command.name("pktmalloc");
  command.set_version_flag("--version", "pktmalloc " PKTMALLOC_VERSION);
  command.require_subcommand(1);
  command.footer("pktmalloc SUBCOMMAND --help tells the options of each, with an example.");
  command.failure_message([](const CLI::App* app, const CLI::Error& error) {
    return fmt::format("pktmalloc: {}\n", explanation(*app, error));
  });
  pktmalloc::UserCommand words;
  pktmalloc::add_run(command, words);
  pktmalloc::add_doctor(command);
  pktmalloc::add_compare(command, words);
  pktmalloc::add_report(command);
  pktmalloc::add_replay(command);
  pktmalloc::add_profile(command);
  pktmalloc::add_stat(command);
  pktmalloc::add_top(command);
  pktmalloc::add_tune(command);
  try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    for (const char* name : {"run", "compare"}) {
      if (!arguments.empty() && arguments[0] == name) {
        words = pktmalloc::cut_user_command(*command.get_subcommand(name), arguments);
      }
    }
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    command.parse(std::move(arguments));
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
