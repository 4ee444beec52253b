// SPDX-License-Identifier: MIT
// pktmalloc compare [-n 5] [--with a,b] [--html FILE] [--json] -- CMD ARGS...: the user's own
// command under each allocator of this machine; with --classes under pktmalloc alone, with its
// default classes and with these.
//
// Interleaved: in every round each allocator runs once, in another order, so that what changes on
// the machine meanwhile touches all alike. One run under glibc before warms the caches and is not
// counted. Exit status 1 when a command failed, 130 when interrupted.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>

#include "tools/command/compare/comparison.h"
#include "tools/command/compare/contenders.h"
#include "tools/command/doctor/bundled_allocator.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/obstacle.h"
#include "tools/command/failure.h"
#include "tools/command/number_range.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/library.h"
#include "tools/command/system/output_file.h"
#include "tools/command/system/target.h"
#include "tools/command/text/quantity.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

constexpr const char* kClasses = "PKTMALLOC_CLASSES";

struct Options {
  int rounds = 5;
  std::vector<std::string> with;
  std::string html, classes;
  bool json = false, show = false;
};

// A line on a terminal that is written over and over; nothing elsewhere.
class Progress {
 public:
  explicit Progress(size_t runs) : runs_(runs), is_shown_(isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (is_shown_) fputs("\r\033[K", stderr);
  }
  // `run` counts from 0; the first is not counted.
  void tell(size_t run, const std::string& allocator, double last_ms) {
    spent_ms_ += last_ms;
    if (!is_shown_) return;
    std::string left;
    if (run > 0) {
      const double each_ms = spent_ms_ / static_cast<double>(run);
      left = fmt::format(", about {} left",
                         seconds_text(each_ms * static_cast<double>(runs_ - run + 1) / 1e3));
    }
    fputs(fmt::format("\r\033[Krun {} of {}: {}{}", run, runs_, allocator, left).c_str(), stderr);
    fflush(stderr);
  }

 private:
  size_t runs_;
  double spent_ms_ = 0;
  bool is_shown_;
};

// All rows would be of one allocator, whatever their names.
void refuse_problems(const std::string& command, const std::string& file) {
  if (holds_archive(file)) {
    throw Failure("{} cannot be compared: it holds libpktmalloc.a, which comes before any other",
                  command);
  }
  if (const auto obstacle = find_obstacle(file, Library::find(false))) {
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
  const Library library = Library::find(false);
  const std::string objection = library.objection({{kClasses, classes}});
  if (!objection.empty()) {
    throw Failure("compare: --classes{}", objection.substr(std::string(kClasses).size()));
  }
  return {{{"default", library.path()}, "default", {}, "", {}},
          {{"tuned", library.path()}, classes, {}, "", {}}};
}

void add(std::vector<Execution>& runs, Contender& contender, const Execution& run) {
  if (!run.succeeded()) {
    contender.failure = run.failure();
    return;
  }
  runs.push_back(run);
  contender.outputs.insert(run.output);
}

void fill_figures(Contender& contender, const std::vector<Execution>& runs) {
  const auto fill = [&](Figure figure, double Execution::*value) {
    std::vector<double> values;
    for (const Execution& run : runs) values.push_back(run.*value);
    contender.figures[figure] = Samples(values);
  };
  if (!contender.failure.empty()) return;
  fill(kTime, &Execution::wall_ms);
  fill(kCpu, &Execution::cpu_ms);
  fill(kPeak, &Execution::peak_bytes);
  fill(kFaults, &Execution::faults);
}

void run_all(Comparison& c, bool show) {
  std::vector<std::vector<Execution>> runs(c.contenders.size());
  std::vector<size_t> order(c.contenders.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(std::random_device{}());
  Progress progress(order.size() * static_cast<size_t>(c.rounds));
  size_t run = 0;
  progress.tell(run, c.glibc().allocator.name + ", not counted", 0);
  Execution last = execute(c.words, "", show);
  if (!last.succeeded() && !is_interrupted()) {
    throw Failure(
        "{} fails as it is ({}): see why with --show, or compare sh -c '...; true' if that is its "
        "usual status",
        c.words[0], last.failure());
  }
  if (last.succeeded()) c.contenders.front().outputs.insert(last.output);
  for (int round = 1; round <= c.rounds && !is_interrupted(); ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      Contender& contender = c.contenders[i];
      ++run;
      if (!contender.failure.empty() || is_interrupted()) continue;
      progress.tell(run, contender.allocator.name, last.wall_ms);
      if (!contender.classes.empty()) setenv(kClasses, contender.classes.c_str(), 1);
      last = execute(c.words, contender.allocator.library, show);
      if (!is_interrupted()) add(runs[i], contender, last);
    }
  }
  c.interrupted = is_interrupted();
  for (size_t i = 0; i < runs.size(); ++i) fill_figures(c.contenders[i], runs[i]);
}

void compare(const Options& options, const UserCommand& words) {
  if (words.empty()) {
    throw Failure("compare: a command is missing, such as: pktmalloc compare -- sort file");
  }
  const std::string file = find_target(words[0]).file;
  refuse_problems(words[0], file);
  Comparison c;
  c.words = words;
  c.rounds = options.rounds;
  c.behind = remove_our_preloads();
  if (options.classes.empty()) {
    for (const Allocator& each : find_contenders(options.with))
      c.contenders.push_back({each, "", {}, "", {}});
    c.contenders.front().allocator.name = name_of_first(file, c.behind);
  } else {
    c.contenders = with_classes(options.classes);
  }
  std::unique_ptr<OutputFile> page;
  if (!options.html.empty()) page = std::make_unique<OutputFile>(options.html);
  expect_interruption();
  run_all(c, options.show);
  const bool is_page_alone = page && page->is_stdout();
  if (c.interrupted) fputs("pktmalloc: interrupted; this is of the runs before\n", stderr);
  if (!is_page_alone) fmt::print("{}", options.json ? json_of(c) : table_of(c));
  if (page) page->write(page_of(c));
  if (c.interrupted) throw CLI::RuntimeError(128 + SIGINT);
  if (c.any_failed()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_compare(CLI::App& command, const UserCommand& words) {
  CLI::App* const sub =
      command.add_subcommand("compare", "Your own command under every allocator of this machine.");
  static Options options;
  sub->add_option("-n,--rounds", options.rounds, "runs under each allocator; 5 unless given")
      ->check(NumberRange(1, 1000));
  sub->add_option("--with", options.with,
                  "only these beside glibc, such as jemalloc,mine=/p/lib.so")
      ->delimiter(',');
  sub->add_option("--classes", options.classes,
                  "only pktmalloc, with its default classes and with these")
      ->type_name("SIZES")
      ->excludes("--with");
  sub->add_option("--html", options.html, "write a page of charts, too; - is stdout, if piped");
  sub->add_flag("--json", options.json, "print JSON in place of tables");
  sub->add_flag("--show", options.show, "let what the command writes pass, to stderr");
  sub->footer(
      "Runs CMD under glibc, jemalloc, mimalloc, tcmalloc and pktmalloc, those that\n"
      "are installed, in turn and in shuffled order, and prints medians of time,\n"
      "CPU, peak RSS and page faults. stdin is /dev/null, output is discarded.\n\n"
      "\"best\" has the least median; \"as best\" and \"as glibc\" are not told from it,\n"
      "or from glibc: by the rank sum test of Mann and Whitney, two-sided, at 1 in\n"
      "100. With 5 runs each, every run of one must be below every run of the other;\n"
      "with fewer nothing is told.\n\n"
      "Exit status: 0 if all ran, 1 if some failed, 2 for what cannot be done,\n"
      "130 when interrupted (what there is by then is printed).\n\n"
      "Example:\n"
      "  pktmalloc compare -n 10 --html sort.html -- sort big.txt");
  sub->callback([&words] { compare(options, words); });
}

}  // namespace pktmalloc
