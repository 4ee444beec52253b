// SPDX-License-Identifier: MIT
// pktmalloc replay TRACE: plays a trace under each allocator of this machine and compares them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/command/compare/comparison.h"
#include "tools/command/failure.h"
#include "tools/command/replay/plan.h"
#include "tools/command/replay/player.h"
#include "tools/command/replay/preloaded.h"
#include "tools/command/replay/trace_text.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/allocator.h"
#include "tools/command/system/interruption.h"
#include "tools/command/system/progress.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string file;
  std::string speed = "full";
  std::vector<std::string> with;
  unsigned runs = 5;
  bool untouched = false;
  bool json = false;
  bool info = false;
};
Options options;
int plan_descriptor;

constexpr const char* kPlay = "play-trace";
constexpr const char* kNothing = "(no calls)";

struct Row {
  Allocator allocator;
  std::vector<Playing> plain, timed;
};

template <typename Value>
Samples samples_of(const std::vector<Playing>& all, Value value) {
  std::vector<double> values;
  for (const Playing& p : all) values.push_back(static_cast<double>(value(p)));
  return Samples(values);
}

template <typename Value>
double median_of(const std::vector<Playing>& all, Value value) {
  return all.empty() ? 0 : samples_of(all, value).median();
}

// The environment with `library` preloaded. PKTMALLOC_ options hold for a replay as for a program,
// but it is not traced itself.
std::vector<std::string> environment_with(const std::string& library) {
  std::vector<std::string> variables;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string variable = *v;
    if (variable.compare(0, 11, "LD_PRELOAD=") == 0) continue;
    if (variable.compare(0, 16, "PKTMALLOC_TRACE=") == 0) continue;
    if (variable.compare(0, 10, "PKTMALLOC_") == 0 && library.empty()) continue;
    variables.push_back(variable);
  }
  if (!library.empty()) variables.push_back("LD_PRELOAD=" + library);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

// Nothing if it was interrupted.
std::optional<Playing> play_once(Plan& plan, const Allocator& allocator, bool latencies) {
  PlanHeader& header = plan.header();
  header.latencies = latencies;
  header.real_time = options.speed == "real";
  header.touch = !options.untouched;
  header.nothing = allocator.name == kNothing;
  header.playing = {};
  snprintf(header.library, sizeof header.library, "%s", allocator.library.c_str());
  std::vector<std::string> words = {"pktmalloc", kPlay, std::to_string(plan.descriptor())};
  std::vector<std::string> variables = environment_with(allocator.library);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(words).data(),
                                pointers(variables).data());
  if (error != 0) throw Failure("cannot start the replay: {}", strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (is_interrupted()) kill(child, SIGKILL);
  }
  if (is_interrupted()) return std::nullopt;
  if (WIFSIGNALED(status)) {
    throw Failure("the replay under {} ended by signal {}", allocator.name, WTERMSIG(status));
  }
  if (WEXITSTATUS(status) != 0 || !header.playing.finished) {
    throw Failure("the replay under {} failed", allocator.name);
  }
  return header.playing;
}

// Those that were played; after an interruption with what there is by then.
std::vector<Row> measure(Plan& plan, const std::vector<Allocator>& all) {
  std::vector<Row> rows;
  for (const Allocator& allocator : all) rows.push_back({allocator, {}, {}});
  if (options.speed == "full") rows.push_back({{kNothing, ""}, {}, {}});
  Progress progress(rows.size() * options.runs);
  size_t number = 0;
  for (unsigned run = 0; run < options.runs && !is_interrupted(); ++run) {
    for (Row& row : rows) {
      progress.tell(++number, row.allocator.name);
      const auto plain = play_once(plan, row.allocator, false);
      const bool is_timed = row.allocator.name != kNothing;
      const auto timed = plain && is_timed ? play_once(plan, row.allocator, true) : std::nullopt;
      if (is_interrupted()) break;
      row.plain.push_back(*plain);
      if (is_timed) row.timed.push_back(*timed);
    }
  }
  std::erase_if(rows, [](const Row& row) { return row.plain.empty(); });
  return rows;
}

constexpr auto kMilliseconds = [](const Playing& p) {
  return static_cast<double>(p.time_ns) / 1e6;
};
constexpr auto kPeakBytes = [](const Playing& p) { return static_cast<double>(p.peak_bytes); };
constexpr auto kEndBytes = [](const Playing& p) { return static_cast<double>(p.end_bytes); };

// What is told of the latency of single calls; of realloc where there is any.
struct Group {
  const char* name;
  Latency Playing::*latency;
};
constexpr Group kGroups[] = {{"malloc", &Playing::allocation},
                             {"free", &Playing::release},
                             {"realloc", &Playing::reallocation}};
struct Percentile {
  const char *title, *key;
  double Latency::*value;
  int width;
};
constexpr Percentile kPercentiles[] = {{"p50", "p50", &Latency::p50, 6},
                                       {"p99", "p99", &Latency::p99, 7},
                                       {"p99.9", "p99_9", &Latency::p99_9, 7}};

std::vector<Group> groups_of(const Row& row) {
  const bool any = !row.plain.empty() && row.plain.back().reallocations > 0;
  return {kGroups, any ? std::end(kGroups) : std::end(kGroups) - 1};
}

double median_of(const Row& row, const Group& group, const Percentile& percentile) {
  return median_of(row.timed, [&](const Playing& p) { return p.*group.latency.*percentile.value; });
}

// In five places: 2507700 is 2508k.
std::string nanoseconds(double ns) {
  if (ns < 99999.5) return fmt::format("{:.0f}", ns);
  if (ns < 99999.5e3) return fmt::format("{:.0f}k", ns / 1e3);
  return fmt::format("{:.0f}M", ns / 1e6);
}

// Time and peak, as `compare` has them; the first allocator is what the others are compared with.
Comparison comparison_of(const std::vector<Row>& rows) {
  Comparison c;
  for (const Row& row : rows) {
    if (row.timed.empty()) continue;
    Contender contender{row.allocator, "", {}, "", {}};
    contender.figures[kTime] = samples_of(row.plain, kMilliseconds);
    contender.figures[kPeak] = samples_of(row.plain, kPeakBytes);
    c.contenders.push_back(std::move(contender));
  }
  return c;
}

void print_latencies(const std::vector<Row>& rows) {
  const std::vector<Group> groups = groups_of(rows[0]);
  fmt::print("{:<14}", "calls, ns");
  for (const Group& group : groups) fmt::print("{:>20}", group.name);
  fmt::print("{:>12}\n{:<14}", "RSS at", "");
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const Percentile& p : kPercentiles) fmt::print("{:>{}}", p.title, p.width);
  }
  fmt::print("{:>12}\n", "the end");
  for (const Row& row : rows) {
    if (row.timed.empty()) continue;
    fmt::print("  {:<12}", row.allocator.name);
    for (const Group& group : groups) {
      for (const Percentile& p : kPercentiles) {
        fmt::print("{:>{}}", nanoseconds(median_of(row, group, p)), p.width);
      }
    }
    fmt::print("{:>12}\n", bytes_text(median_of(row.plain, kEndBytes)));
  }
  fmt::print("\n");
}

void print_table(const std::string& title, const std::vector<Row>& rows) {
  fmt::print("{}\n", title);
  fmt::print("played at {} speed, {} run{} each{}\n\n", options.speed, options.runs,
             options.runs == 1 ? "" : "s", is_interrupted() ? " were wanted" : "");
  const Comparison c = comparison_of(rows);
  if (c.contenders.empty()) return;
  const std::string tables = table_of(c, kTime) + table_of(c, kPeak);
  fmt::print("{}", tables);
  print_latencies(rows);
  fmt::print("{}", legend_of(tables));
  if (c.can_tell()) fmt::print("{}\n{}\n", c.finding(kTime), c.finding(kPeak));
  for (const Row& row : rows) {
    if (row.allocator.name != kNothing) continue;
    fmt::print("Of each time {} are the replay itself, without malloc and free.\n",
               duration_text(median_of(row.plain, kMilliseconds)));
  }
  fmt::print(
      "Time is of runs without a clock around calls. What is rare, what calls make others wait\n"
      "for and what the system does show in it, and in no percentile: so the two may disagree.\n");
  for (const Row& row : rows) {
    const uint64_t refused = row.plain.back().refused;
    if (refused > 0) fmt::print("\n{}: {} requests were refused\n", row.allocator.name, refused);
  }
}

void print_json(const std::string& title, bool whole, const std::vector<Row>& rows) {
  using Json = nlohmann::ordered_json;
  Json allocators = Json::array();
  for (const Row& row : rows) {
    const Samples time = samples_of(row.plain, kMilliseconds);
    Json each = {
        {"name", row.allocator.name == kNothing ? "nothing" : row.allocator.name},
        {"library", row.allocator.library},
        {"time_ms", time.median()},
        {"time_mean_ms", time.mean()},
        {"time_interval_ms", time.values().size() < 2 ? Json(nullptr) : Json(time.interval())},
        {"time_runs_ms", time.values()}};
    const Playing& last = row.plain.back();
    each["allocations"] = last.allocations;
    each["reallocations"] = last.reallocations;
    each["releases"] = last.releases;
    if (!row.timed.empty()) {
      each["refused"] = last.refused;
      each["peak_rss_bytes"] = median_of(row.plain, kPeakBytes);
      each["end_rss_bytes"] = median_of(row.plain, kEndBytes);
      for (const Group& group : groups_of(row)) {
        for (const Percentile& p : kPercentiles) {
          each[fmt::format("{}_{}_ns", group.name, p.key)] = median_of(row, group, p);
        }
      }
    }
    allocators.push_back(each);
  }
  const Json json = {{"trace", title},
                     {"whole", whole},
                     {"speed", options.speed},
                     {"runs", options.runs},
                     {"interrupted", is_interrupted()},
                     {"allocators", allocators}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void replay() {
  std::vector<Allocator> all;
  for (const std::string& name : options.with) all.push_back(find_allocator(name, "replay"));
  if (all.empty()) all = installed_allocators();
  std::optional<Progress> preparation(std::in_place, 0);
  preparation->note("reading " + options.file);
  Trace trace = read_trace(options.file);
  preparation.reset();
  const bool is_whole = trace.warning.empty();
  if (trace.calls.empty() && !options.info) {
    if (is_whole) throw Failure("{} holds no calls to play", options.file);
    throw Failure("{}, and nothing before it can be played", trace.warning);
  }
  if (!is_whole) tell(trace.warning);
  if (options.info) {
    fmt::print("{}", options.json ? info_json(trace) : info_text(trace));
    if (!is_whole) throw ExitStatus{1};
    return;
  }
  const std::string title = title_of(trace);
  Plan plan(trace);
  expect_interruption();
  const std::vector<Row> rows = measure(plan, all);
  if (is_interrupted()) tell("interrupted; this is of the runs before");
  options.json ? print_json(title, is_whole, rows) : print_table(title, rows);
  if (is_interrupted()) throw ExitStatus{128 + SIGINT};
  if (!is_whole) throw ExitStatus{1};
}

}  // namespace

void add_replay(CommandLine& command) {
  const Subcommand app = command.add_subcommand(
      "replay", "Play a recorded trace under the allocators of this machine.");
  app.add_option("TRACE", options.file,
                 "what PKTMALLOC_TRACE=FILE recorded, compressed by zstd or not; - is stdin")
      .required();
  app.add_option("--speed", options.speed, "full, or real: each call at its time")
      .one_of({"full", "real"})
      .show_default();
  app.add_option("--with", options.with,
                 "glibc, jemalloc, mimalloc, tcmalloc, pktmalloc or NAME=/path/lib.so, separated "
                 "by commas; all that are installed")
      .delimiter(',');
  app.add_option("-n,--runs", options.runs, "how often each plays").range(1, 1000).show_default();
  app.add_flag("--untouched", options.untouched,
               "do not write to the objects' pages; for programs that use little of what they "
               "ask for");
  app.add_flag("--json", options.json, "print JSON");
  app.add_flag("--info", options.info, "tell what the trace holds, play nothing")
      .excludes("--speed")
      .excludes("--with")
      .excludes("--runs")
      .excludes("--untouched");
  app.footer(
      "Exit status: 0 if all was played, 1 if the end of the trace is missing, 2 for what cannot\n"
      "be done, 130 when interrupted.\n\n"
      "Example:\n  PKTMALLOC_TRACE=app.trace.zst LD_PRELOAD=libpktmalloc.so ./app\n"
      "  pktmalloc replay app.trace.zst --with glibc,pktmalloc");
  app.callback(replay);

  // What plays, in a process of its own under the allocator.
  const Subcommand player = command.add_subcommand(kPlay, "");
  player.hide();
  player.add_option("PLAN", plan_descriptor, "").required();
  player.callback([] { play(plan_descriptor); });
}

}  // namespace pktmalloc
