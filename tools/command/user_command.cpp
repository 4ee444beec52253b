// SPDX-License-Identifier: MIT
#include "tools/command/user_command.h"

#include <algorithm>
#include <iterator>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// "--interval" of "--interval 10s"; not "--interval=10s", not "--stats".
bool next_is_its_value(const CLI::App& subcommand, const std::string& word) {
  const CLI::Option* const option = subcommand.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

}  // namespace

UserCommand cut_user_command(const CLI::App& subcommand, std::vector<std::string>& arguments) {
  auto at = arguments.begin() + 1;
  while (at != arguments.end() && at->size() > 1 && at->front() == '-' && *at != "--") {
    if (at->starts_with("--") && at->ends_with('=')) {
      throw Failure("{}: {} lacks its value", subcommand.get_name(), *at);
    }
    const bool skip_value = next_is_its_value(subcommand, *at);
    ++at;
    if (skip_value && at != arguments.end()) ++at;
  }
  const auto first = at != arguments.end() && *at == "--" ? at + 1 : at;
  UserCommand words(std::make_move_iterator(first), std::make_move_iterator(arguments.end()));
  arguments.erase(at, arguments.end());
  return words;
}

}  // namespace pktmalloc
