// SPDX-License-Identifier: MIT
// pktmalloc replay TRACE: plays a trace under each allocator of this machine and compares them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/command/failure.h"
#include "tools/command/number_range.h"
#include "tools/command/replay/plan.h"
#include "tools/command/replay/player.h"
#include "tools/command/replay/preloaded.h"
#include "tools/command/replay/trace_text.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/allocator.h"

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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <typename Value>
double median_of(const std::vector<Playing>& all, Value value) {
  std::vector<double> values;
  for (const Playing& p : all) values.push_back(static_cast<double>(value(p)));
  return values.empty() ? 0 : median(values);
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

Playing play_once(Plan& plan, const Allocator& allocator, bool latencies) {
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
  }
  if (WIFSIGNALED(status)) {
    throw Failure("the replay under {} ended by signal {}", allocator.name, WTERMSIG(status));
  }
  if (WEXITSTATUS(status) != 0 || !header.playing.finished) {
    throw Failure("the replay under {} failed", allocator.name);
  }
  return header.playing;
}

std::vector<Row> measure(Plan& plan, const std::vector<Allocator>& all) {
  std::vector<Row> rows;
  for (const Allocator& allocator : all) rows.push_back({allocator, {}, {}});
  if (options.speed == "full") rows.push_back({{kNothing, ""}, {}, {}});
  for (unsigned run = 0; run < options.runs; ++run) {
    for (Row& row : rows) {
      row.plain.push_back(play_once(plan, row.allocator, false));
      if (row.allocator.name == kNothing) continue;
      row.timed.push_back(play_once(plan, row.allocator, true));
    }
  }
  return rows;
}

constexpr auto kTime = [](const Playing& p) { return static_cast<double>(p.time_ns) / 1e6; };
constexpr auto kPeak = [](const Playing& p) { return static_cast<double>(p.peak_bytes); };
constexpr auto kEnd = [](const Playing& p) { return static_cast<double>(p.end_bytes); };

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

std::string mebibytes(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 20)); }

void print_table(const std::string& title, const std::vector<Row>& rows) {
  fmt::print("{}\n", title);
  fmt::print("played at {} speed, medians of {} run{}\n\n", options.speed, options.runs,
             options.runs == 1 ? "" : "s");
  const std::vector<Group> groups = groups_of(rows[0]);
  fmt::print("{:<13}{:>9}", "", "time");
  for (const Group& group : groups) fmt::print("{:>16}, ns", group.name);
  fmt::print("{:>17}\n{:<13}{:>9}", "RSS, MiB", "", "ms");
  for (size_t i = 0; i < groups.size(); ++i) {
    for (const Percentile& p : kPercentiles) fmt::print("{:>{}}", p.title, p.width);
  }
  fmt::print("{:>9}{:>8}\n", "peak", "end");
  for (const Row& row : rows) {
    fmt::print("{:<13}{:>9.1f}", row.allocator.name, median_of(row.plain, kTime));
    if (row.timed.empty()) {
      fmt::print("  the replay without malloc and free\n");
      continue;
    }
    for (const Group& group : groups) {
      for (const Percentile& p : kPercentiles) {
        fmt::print("{:>{}}", nanoseconds(median_of(row, group, p)), p.width);
      }
    }
    fmt::print("{:>9}{:>8}\n", mebibytes(median_of(row.plain, kPeak)),
               mebibytes(median_of(row.plain, kEnd)));
  }
  for (const Row& row : rows) {
    const uint64_t refused = row.plain.empty() ? 0 : row.plain.back().refused;
    if (refused > 0) fmt::print("\n{}: {} requests were refused\n", row.allocator.name, refused);
  }
}

void print_json(const std::string& title, bool whole, const std::vector<Row>& rows) {
  using Json = nlohmann::ordered_json;
  Json allocators = Json::array();
  for (const Row& row : rows) {
    Json each = {{"name", row.allocator.name == kNothing ? "nothing" : row.allocator.name},
                 {"library", row.allocator.library},
                 {"time_ms", median_of(row.plain, kTime)}};
    const Playing& last = row.plain.back();
    each["allocations"] = last.allocations;
    each["reallocations"] = last.reallocations;
    each["releases"] = last.releases;
    if (!row.timed.empty()) {
      each["refused"] = last.refused;
      each["peak_rss_bytes"] = median_of(row.plain, kPeak);
      each["end_rss_bytes"] = median_of(row.plain, kEnd);
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
                     {"allocators", allocators}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void replay() {
  std::vector<Allocator> all;
  for (const std::string& name : options.with) all.push_back(find_allocator(name, "replay"));
  if (all.empty()) all = installed_allocators();
  Trace trace = read_trace(options.file);
  if (!trace.warning.empty()) {
    fputs(fmt::format("pktmalloc: {}\n", trace.warning).c_str(), stderr);
  }
  if (options.info) {
    fmt::print("{}", options.json ? info_json(trace) : info_text(trace));
    return;
  }
  if (trace.calls.empty()) throw Failure("{} holds no calls to play", options.file);
  const std::string title = title_of(trace);
  Plan plan(trace);
  const std::vector<Row> rows = measure(plan, all);
  options.json ? print_json(title, trace.warning.empty(), rows) : print_table(title, rows);
}

}  // namespace

void add_replay(CLI::App& command) {
  CLI::App* const app = command.add_subcommand(
      "replay", "Play a recorded trace under the allocators of this machine.");
  app->add_option("TRACE", options.file,
                  "what PKTMALLOC_TRACE=FILE recorded, compressed by zstd or not; - is stdin")
      ->required();
  app->add_option("--speed", options.speed, "full, or real: each call at its time")
      ->check(CLI::IsMember({"full", "real"}))
      ->capture_default_str();
  app->add_option("--with", options.with,
                  "glibc, jemalloc, mimalloc, tcmalloc, pktmalloc or NAME=/path/lib.so, separated "
                  "by commas; all that are installed")
      ->delimiter(',');
  app->add_option("-n,--runs", options.runs, "how often each plays")
      ->check(NumberRange(1, 1000))
      ->capture_default_str();
  app->add_flag("--untouched", options.untouched,
                "do not write to the objects' pages; for programs that use little of what they "
                "ask for");
  app->add_flag("--json", options.json, "print JSON");
  app->add_flag("--info", options.info, "tell what the trace holds, play nothing");
  app->footer(
      "Example:\n  PKTMALLOC_TRACE=app.trace.zst LD_PRELOAD=libpktmalloc.so ./app\n"
      "  pktmalloc replay app.trace.zst --with glibc,pktmalloc");
  app->callback(replay);

  // What plays, in a process of its own under the allocator.
  CLI::App* const player = command.add_subcommand(kPlay)->group("");
  player->add_option("PLAN", plan_descriptor)->required();
  player->callback([] { play(plan_descriptor); });
}

}  // namespace pktmalloc
