// SPDX-License-Identifier: MIT
// pktmalloc compare [-n 5] [--with a,b] [--html FILE] [--json] -- CMD ARGS...: the user's own
// command under each allocator of this machine; with --classes under pktmalloc alone, with its
// default classes and with these. compare -- CMD -- CMD: several commands under one allocator.
//
// Interleaved: in every round each allocator runs once, in another order, so that what changes on
// the machine meanwhile touches all alike. One run under glibc before warms the caches and is not
// counted. Exit status 1 when a command failed, 130 when interrupted.
#include <csignal>
#include <cstdlib>
#include <memory>

#include "tools/command/compare/comparison.h"
#include "tools/command/compare/contenders.h"
#include "tools/command/compare/rounds.h"
#include "tools/command/doctor/bundled_allocator.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/obstacle.h"
#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/interruption.h"
#include "tools/command/system/library.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/system/target.h"

namespace pktmalloc {
namespace {

struct Options {
  int rounds = 5;
  std::vector<std::string> with;
  std::string html, markdown, csv, classes;
  Procedure procedure;
  bool json = false;
};

// All rows would be of one allocator, whatever their names.
void refuse_problems(const std::string& command, const std::string& file) {
  if (holds_archive(file)) {
    throw Failure("{} cannot be compared: it holds libpktmalloc.a, which comes before any other",
                  command);
  }
  if (const auto obstacle = find_obstacle(file, Library::find())) {
    throw Failure("{} cannot be compared. {} {}", command, obstacle->says, obstacle->advice);
  }
}

// LD_PRELOAD stays for every run, but for our libraries: each run has its own allocator.
std::string remove_our_preloads() {
  std::string others;
  for (const std::string& each : preloads(value_of(own_environment(), "LD_PRELOAD"))) {
    if (!is_our_library(each)) others += (others.empty() ? "" : ":") + each;
  }
  if (others.empty()) {
    unsetenv("LD_PRELOAD");
  } else {
    setenv("LD_PRELOAD", others.c_str(), 1);
  }
  return others;
}

// What serves the command as it is.
std::string name_of_first(const std::string& file, const std::string& preloaded) {
  for (const std::string& each : preloads(preloaded)) {
    const std::string name = allocator_of_library(each);
    if (!name.empty()) return "preloaded " + name;
  }
  const ElfFile program(file);
  for (const std::string& needed : program.needed()) {
    const std::string name = allocator_of_library(needed);
    if (!name.empty()) return "linked " + name;
  }
  return "glibc";
}

// The default table is what the other is compared with.
std::vector<Contender> with_classes(const std::string& classes) {
  const Library library = Library::find();
  const std::string objection = library.objection({{kClasses, classes}});
  if (!objection.empty()) {
    throw Failure("compare: --classes{}", objection.substr(std::string(kClasses).size()));
  }
  return {{{"default", library.path()}, "default", {}, "", {}},
          {{"tuned", library.path()}, classes, {}, "", {}}};
}

using Commands = std::vector<std::vector<std::string>>;

// Without "--" in front of the first, all words are its own: git log -- file.
Commands commands_of(const UserCommand& words) {
  Commands commands(1);
  for (const std::string& word : words) {
    if (words.behind_dashes && word == "--") {
      commands.emplace_back();
    } else {
      commands.back().push_back(word);
    }
  }
  for (const auto& command : commands) {
    if (!command.empty()) continue;
    throw Failure("compare: a command is missing, such as: pktmalloc compare -- {}",
                  commands.size() == 1 ? "sort file" : "./old file -- ./new file");
  }
  return commands;
}

std::vector<Contender> with_commands(const Commands& commands, const Options& options) {
  constexpr size_t kMost = 26;
  if (commands.size() > kMost) throw Failure("compare: more than {} commands", kMost);
  if (!options.classes.empty()) throw Failure("compare: --classes takes one command");
  if (options.with.size() > 1) {
    throw Failure("compare: several commands run under one allocator; --with names {}",
                  options.with.size());
  }
  const Allocator one = find_contender(options.with.empty() ? "pktmalloc" : options.with[0]);
  std::vector<Contender> all;
  for (const auto& command : commands) {
    const std::string file = find_target(command[0]).file;
    if (!one.library.empty()) refuse_problems(command[0], file);
    const char name = static_cast<char>('a' + all.size());
    all.push_back({{std::string(1, name), one.library}, "", {}, "", {}, command});
  }
  return all;
}

void refuse_half_a_service(const Procedure& procedure) {
  const Service& s = procedure.service;
  if (s.is_wanted() && s.ready.empty()) {
    throw Failure(
        "compare: --load needs --ready: a port, or a command that succeeds once the server"
        " is ready");
  }
  if (!s.is_wanted() && !(s.ready.empty() && s.stop.empty())) {
    throw Failure("compare: --ready and --stop are of a server, and need --load");
  }
  const unsigned long port = s.names_port() ? strtoul(s.ready.c_str(), nullptr, 10) : 1;
  if (port == 0 || port > 65535) {
    throw Failure("compare: --ready: {} is no port, which are 1 to 65535", s.ready);
  }
}

// Files that are written beside what is printed.
struct Exports {
  std::unique_ptr<OutputFile> html, markdown, csv;

  explicit Exports(const Options& options)
      : html(output_at(options.html)),
        markdown(output_at(options.markdown)),
        csv(output_at(options.csv)) {}
  bool take_stdout() const { return is_stdout(html) || is_stdout(markdown) || is_stdout(csv); }
  void write(const Comparison& c) const {
    if (html) html->write(page_of(c));
    if (markdown) markdown->write(markdown_of(c));
    if (csv) csv->write(csv_of(c));
  }

 private:
  static bool is_stdout(const std::unique_ptr<OutputFile>& file) {
    return file && file->is_stdout();
  }
};

void compare(const Options& options, const UserCommand& words) {
  const Commands commands = commands_of(words);
  refuse_half_a_service(options.procedure);
  Comparison c;
  c.words = words;
  c.rounds = options.rounds;
  c.is_service = options.procedure.service.is_wanted();
  c.behind = remove_our_preloads();
  if (commands.size() > 1) {
    c.contenders = with_commands(commands, options);
    c.under = options.with.empty() ? "pktmalloc" : options.with[0];
  } else {
    const std::string file = find_target(words[0]).file;
    refuse_problems(words[0], file);
    if (options.classes.empty()) {
      for (const Allocator& each : find_contenders(options.with))
        c.contenders.push_back({each, "", {}, "", {}});
      c.contenders.front().allocator.name = name_of_first(file, c.behind);
    } else {
      c.contenders = with_classes(options.classes);
    }
  }
  const Exports exports(options);
  expect_interruption();
  run_rounds(c, options.procedure);
  if (c.interrupted) tell("interrupted; this is of the runs before");
  if (!exports.take_stdout()) fmt::print("{}", options.json ? json_of(c) : table_of(c));
  exports.write(c);
  if (c.interrupted) throw ExitStatus{128 + SIGINT};
  if (c.any_failed()) throw ExitStatus{1};
}

}  // namespace

void add_compare(CommandLine& command, const UserCommand& words) {
  const Subcommand sub =
      command.add_subcommand("compare",
                             "Your own command under every allocator of this machine, or "
                             "several commands under one.");
  static Options options;
  sub.add_option("-n,--rounds", options.rounds, "runs under each allocator; 5 unless given")
      .range(1, 1000);
  sub.add_option("--with", options.with,
                 "only these beside glibc and pktmalloc, such as jemalloc,mine=/p/lib.so; of "
                 "several commands the allocator, pktmalloc unless given")
      .delimiter(',');
  sub.add_option("--classes", options.classes,
                 "only pktmalloc, with its default classes and with these")
      .type_name("SIZES")
      .excludes("--with");
  sub.add_option("--warmup", options.procedure.warmup,
                 "runs under each allocator before the first that counts; none unless given")
      .range(0, 1000);
  sub.add_option("--prepare", options.procedure.prepare,
                 "a shell command before each run, which is not timed")
      .type_name("CMD");
  sub.add_option("--load", options.procedure.service.load,
                 "the command is a server: start it, wait until it is ready, time this, stop it")
      .type_name("CMD");
  sub.add_option("--ready", options.procedure.service.ready,
                 "of a server: the port it listens to, or a command that succeeds once it is ready")
      .type_name("PORT|CMD");
  sub.add_option("--stop", options.procedure.service.stop,
                 "of a server: what stops it; SIGTERM unless given")
      .type_name("CMD");
  sub.add_option("--html", options.html, "write a page of charts, too; - is stdout, if piped");
  sub.add_option("--export-markdown", options.markdown, "write the tables as Markdown, too")
      .type_name("FILE");
  sub.add_option("--export-csv", options.csv, "write a row an allocator and figure, too")
      .type_name("FILE");
  sub.add_flag("--json", options.json, "print JSON in place of tables");
  sub.add_flag("--show", options.procedure.show, "let what the commands write pass, to stderr");
  sub.footer(
      "Runs CMD under glibc, jemalloc, mimalloc, tcmalloc and pktmalloc, those that\n"
      "are installed, in turn and in shuffled order, and prints medians of time,\n"
      "CPU, peak RSS and page faults. stdin is /dev/null, output is discarded.\n"
      "\"-- CMD -- CMD\" runs several commands under one allocator instead.\n\n"
      "\"+- 95 %\" is the interval in which the mean lies in 95 of 100 cases. \"best\" has\n"
      "the least median; \"~ best\" and \"~ glibc\" are not told from it, or from glibc, for\n"
      "their runs mix: by the rank sum test of Mann and Whitney, two-sided, at 1 in 100.\n"
      "With 5 runs each, every run of one must be below every run of the other; with\n"
      "fewer nothing is told.\n\n"
      "Exit status: 0 if all ran, 1 if some failed, 2 for what cannot be done,\n"
      "130 when interrupted (what there is by then is printed).\n\n"
      "Example:\n"
      "  pktmalloc compare -n 10 --html sort.html -- sort big.txt\n"
      "  pktmalloc compare --with glibc -- ./old big.txt -- ./new big.txt\n"
      "  pktmalloc compare --ready 7000 --load 'redis-benchmark -p 7000 -q' -- \\\n"
      "    redis-server --port 7000");
  sub.callback([&words] { compare(options, words); });
}

}  // namespace pktmalloc
