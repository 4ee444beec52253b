// SPDX-License-Identifier: MIT
#include "tools/command/user_command.h"

#include <algorithm>
#include <iterator>

#include "tools/command/failure.h"

namespace pktmalloc {

UserCommand cut_user_command(const Subcommand& subcommand, std::vector<std::string>& arguments) {
  auto at = arguments.begin() + 1;
  while (at != arguments.end() && at->size() > 1 && at->front() == '-' && *at != "--") {
    if (at->starts_with("--") && at->ends_with('=')) {
      throw Failure("{}: {} lacks its value", subcommand.name(), *at);
    }
    // "--interval" of "--interval 10s"; not "--interval=10s", not "--stats".
    const bool skip_value = subcommand.takes_value(*at);
    ++at;
    if (!skip_value || at == arguments.end()) continue;
    if (at->empty()) throw Failure("{}: {} lacks its value", subcommand.name(), at[-1]);
    ++at;
  }
  const bool behind_dashes = at != arguments.end() && *at == "--";
  UserCommand words(std::make_move_iterator(behind_dashes ? at + 1 : at),
                    std::make_move_iterator(arguments.end()));
  words.behind_dashes = behind_dashes;
  arguments.erase(at, arguments.end());
  return words;
}

}  // namespace pktmalloc
