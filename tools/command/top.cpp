// SPDX-License-Identifier: MIT
// pktmalloc top: a process's statistics, live.
#include <unistd.h>

#include <cmath>
#include <thread>

#include "tools/command/failure.h"
#include "tools/command/live/live_table.h"
#include "tools/command/live/process_table.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/process.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/top/top_screen.h"

namespace pktmalloc {
namespace {

struct Options {
  std::optional<std::string> pid;
  double delay_seconds = 1;
  unsigned batch = 0;
  bool once = false;
  std::string sort = "m";
};

void print(const LiveTable& table, const std::string& message) {
  for (const Line& line : table.totals) fmt::print("{}\n", text_of(line));
  fmt::print("{}\n{}\n", text_of(table.head), text_of(table.sum));
  for (const Line& row : table.rows) fmt::print("{}\n", text_of(row));
  if (!message.empty()) fmt::print("{}\n", message);
}

// Readings one after the other, as plain text.
void print_batch(unsigned readings, std::chrono::duration<double> delay, pid_t pid, Order order) {
  std::optional<Watch> watch;
  if (pid != 0) watch.emplace(pid);
  for (unsigned i = 0; i < readings; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(delay);
      fmt::print("\n");
      if (watch) watch->update();
    }
    if (watch) {
      print(live_table(*watch, order, Screen{}), watch->message());
    } else {
      fmt::print("{}", process_table().text());
    }
    flush_standard_output();
    if (watch && watch->ended() && !watch->message().empty()) return;
  }
}

void run(const Options& options) {
  const pid_t pid = process_id(options.pid.value_or(""));
  if (pid == 0 && options.pid) throw Failure("{} is not a process id", *options.pid);
  if (options.sort.size() != 1 || !is_column_key(options.sort[0])) {
    throw Failure("--sort {} names no column; accepted: {}", options.sort, column_keys());
  }
  const Order order{options.sort[0]};
  const std::chrono::duration<double> delay(options.delay_seconds);
  const bool terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  if (options.batch > 0 || options.once || !terminal) {
    print_batch(std::max(options.batch, 1U), delay, pid, order);
  } else {
    TopScreen(std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay), order)
        .run(pid);
  }
}

}  // namespace

void add_top(CommandLine& command) {
  const Subcommand top = command.add_subcommand(
      "top", "Statistics of a running process, live; without PID, choose one of all.");
  static Options options;
  top.add_option(
      "PID", [](const std::string& pid) { options.pid = pid; }, "process id");
  top.add_option("-d,--delay", options.delay_seconds, "seconds between readings")
      .range(0.1, 3600.0)
      .show_default();
  top.add_option("-b,--batch", options.batch, "print so many readings as text, and end")
      .range(1U, 1000000000U);
  top.add_flag("--once", options.once, "print one reading and end; also where is no terminal");
  top.add_option("-s,--sort", options.sort, "key of the column to sort by").show_default();
  std::string columns;
  for (const std::string& line : column_help()) columns += line + "\n";
  top.footer(
      "Keys that sort by a column, and what it shows; those after p need a wide terminal:\n" +
      columns +
      "o shows objects by type, those first that grow most; it stops the process, as a rule for "
      "less than 5 ms.\n"
      "r reverses, arrows and Page Up/Down scroll, Space reads at once, Escape goes back,\n"
      "h or ? helps, q quits. Example:\n"
      "  pktmalloc top $(pidof redis-server)\n"
      "  pktmalloc top -b 60 1234 > minute.txt");
  top.callback([] { run(options); });
}

}  // namespace pktmalloc
