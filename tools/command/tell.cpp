// SPDX-License-Identifier: MIT
// pktmalloc tell PID ORDER [FILE]: has a running process do something.
#include "tools/command/failure.h"
#include "tools/command/live/live_call.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/process.h"
#include "tools/command/text/path_pattern.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string pid;
  std::vector<std::string> order;
};

// What follows an order's words is a file.
bool is_word(const std::string& text) { return text == "start" || text == "stop"; }

// The process knows what there is; the file is made absolute, for its folder may be another one.
std::string order_text(const std::vector<std::string>& words) {
  std::string text = words[0];
  bool has_file = false;
  for (size_t i = 1; i < words.size(); ++i) {
    if (has_file) throw Failure("tell: {} is one argument too many", words[i]);
    has_file = !is_word(words[i]);
    text += " " + (has_file ? absolute_pattern(words[i]) : words[i]);
  }
  return text;
}

void tell(const Options& options) {
  const pid_t pid = process_id(options.pid);
  if (pid == 0) throw Failure("tell: {} is no process id", options.pid);
  const Process process(Process(pid).leader());
  const ControlSocket socket(process, [&] { call(process); });
  fmt::print("{}\n", socket.ask(order_text(options.order)));
}

}  // namespace

void add_tell(CommandLine& command) {
  const Subcommand tell = command.add_subcommand(
      "tell", "Has a running process write a report now, or give memory back.");
  static Options options;
  tell.add_option("PID", options.pid, "process id").required();
  tell.add_option(
          "ORDER", options.order,
          "stats, profile or sizes, each with a FILE or where its option says; profile start, "
          "profile stop; trace start FILE, trace stop; trim")
      .required()
      .type_name("TEXT [FILE]");
  tell.footer(
      "No thread of the process is stopped or interrupted. Example:\n"
      "  pktmalloc tell $(pidof app) profile start\n"
      "  pktmalloc tell $(pidof app) profile app.heap\n"
      "  pktmalloc tell $(pidof app) stats app.json");
  tell.callback([] { pktmalloc::tell(options); });
}

}  // namespace pktmalloc
