// SPDX-License-Identifier: MIT
// The pktmalloc command: programs under the library are run, checked, compared, watched.
//
// Exit status 2 with one line on stderr for whatever cannot be done.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "tools/command/failure.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_output.h"

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

// Letters to be put in, left out or replaced before one word becomes the other.
size_t distance(const std::string& one, const std::string& other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t replaced = diagonal + (one[i] != other[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row[other.size()];
}

// The option that is like the word, or begins with it; "" when there is none.
std::string nearest(const std::string& word, const CLI::App& app) {
  std::string found;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& name : o->get_lnames()) {
      const std::string option = "--" + name;
      const bool begins = word.size() > 3 && option.starts_with(word);
      const size_t away = begins ? 1 : distance(word, option);
      if (away < least) found = option;
      least = std::min(least, away);
    }
  }
  return found;
}

// What is wrong with the arguments of a subcommand that knows all of them.
std::string fault(const CLI::App& app, const CLI::Error& error, const std::string& last) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return error.what();
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_items_expected_max() == 1 && o->count() > 1) {
      return fmt::format("{} is given {} times", o->get_name(), o->count());
    }
  }
  return last + " lacks its value";
}

// One line: what was not understood, and what would have been. `last` is the last argument.
std::string explanation(const CLI::App& command, const CLI::Error& error, const std::string& last) {
  const auto is_any = [](const CLI::App* s) { return !s->get_group().empty(); };  // not hidden
  const auto is_chosen = [](const CLI::App* s) { return s->count() > 0; };
  const auto chosen = command.get_subcommands(is_chosen);
  const std::vector<std::string> unknown = command.remaining();
  if (chosen.empty() || !unknown.empty()) {
    const std::string all = names(command.get_subcommands(is_any));
    if (unknown.empty()) return fmt::format("a subcommand is missing: {}", all);
    return fmt::format("there is no {} {}; the {}", unknown[0][0] == '-' ? "option" : "subcommand",
                       unknown[0],
                       unknown[0][0] == '-' ? "options are " + names(command.get_options())
                                            : "subcommands are " + all);
  }
  const CLI::App& app = *chosen.front();
  const std::vector<std::string> unexpected = app.remaining();
  if (unexpected.empty()) return fmt::format("{}: {}", app.get_name(), fault(app, error, last));
  if (unexpected[0][0] != '-') {
    return fmt::format("{}: {} is one argument too many", app.get_name(), unexpected[0]);
  }
  const std::string near = nearest(unexpected[0].substr(0, unexpected[0].find('=')), app);
  return fmt::format("{} has no option {}; {}pktmalloc {} --help tells all", app.get_name(),
                     unexpected[0], near.empty() ? "" : fmt::format("did you mean {}? ", near),
                     app.get_name());
}

// `report profile` is `profile`, also behind `help`.
void shorten_report_profile(std::vector<std::string>& words) {
  const size_t at = !words.empty() && words[0] == "help" ? 1 : 0;
  if (words.size() < at + 2 || words[at] != "report" || words[at + 1] != "profile") return;
  words.erase(words.begin() + static_cast<ptrdiff_t>(at));
}

// Its exit status.
int execute(std::vector<std::string> arguments) {
  CLI::App command("pktmalloc: run programs with the packet allocator, and see what it does.");
  command.name("pktmalloc");
  command.set_version_flag("--version", "pktmalloc " PKTMALLOC_VERSION);
  command.require_subcommand(1);
  command.footer("pktmalloc SUBCOMMAND --help tells the options of each, with an example.");
  std::string last;
  command.failure_message([&last](const CLI::App* app, const CLI::Error& error) {
    return fmt::format("pktmalloc: {}\n", explanation(*app, error, last));
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
  pktmalloc::add_exporter(command);
  pktmalloc::add_tune(command);
  pktmalloc::add_tell(command);
  pktmalloc::add_recover(command);
  try {
    if (arguments.empty()) arguments = {"--help"};
    shorten_report_profile(arguments);
    if (!arguments.empty() && arguments.size() <= 2 && arguments[0] == "help") {
      arguments.erase(arguments.begin());
      arguments.push_back("--help");
    }
    for (const char* name : {"run", "compare"}) {
      if (!arguments.empty() && arguments[0] == name) {
        words = pktmalloc::cut_user_command(*command.get_subcommand(name), arguments);
      }
    }
    if (!arguments.empty()) last = arguments.back();
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    command.parse(std::move(arguments));
  } catch (const CLI::RuntimeError& ended) {
    return ended.get_exit_code();
  } catch (const CLI::ParseError& error) {
    std::ostringstream help;  // std::cout would not tell why it is lost
    const bool is_help = command.exit(error, help, std::cerr) == 0;
    fmt::print("{}", help.str());
    return is_help ? 0 : 2;
  }
  return 0;
}

// Not by fmt::print, which throws when stderr is closed.
int tell(const char* what) {
  fputs(fmt::format("pktmalloc: {}\n", what).c_str(), stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int status = execute({argv + 1, argv + argc});
    pktmalloc::flush_standard_output();
    return status;
  } catch (const std::system_error& failure) {
    pktmalloc::end_if_unread(failure.code().value());
    return tell(failure.what());
  } catch (const std::exception& failure) {
    return tell(failure.what());
  }
}
