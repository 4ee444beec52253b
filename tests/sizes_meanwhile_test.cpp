// SPDX-License-Identifier: MIT
// PKTMALLOC_SIZES while the program runs: by interval and by order, in programs that are killed,
// in children, and with several threads at work meanwhile; and what pktmalloc tune makes of several
// files of one process.
//
// Programs here wait for the file that they expect, so nothing depends on how fast the machine is.
#include <catch2/catch.hpp>

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/size_record.h"
#include "tests/temporary_folder.h"

namespace {

// The recordings of a folder by name, so those of a process in their order; each is whole.
std::vector<Json> recordings(const TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Json> all;
  for (const std::string& path : paths) all.push_back(read(path));
  return all;
}

Outcome tune(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "tune"});
  return Program(arguments).run();
}

// Perl: sleeps until the report of that number is there.
const std::string kWait =
    "sub await { my $file = sprintf '%05d.json', $_[0]; select undef, undef, undef, .01 until -e "
    "$file }";

uint64_t live_between(const Rows& rows, uint64_t least, uint64_t most) {
  uint64_t live = 0;
  for (const auto& [request, row] : rows) {
    if (request.first >= least && request.first <= most) live += row.live_at_peak;
  }
  return live;
}

// Least and most of the even sizes, or the odd ones, of peaks_of_two_groups_in_turn.
struct Range {
  uint64_t least = ~uint64_t{0}, most = 0;
};
Range range_of(const Rows& rows, uint64_t odd) {
  Range range;
  for (uint64_t bytes = 700 + odd; bytes < 900; bytes += 2) {
    const auto row = rows.find({bytes, 0});
    const uint64_t live = row == rows.end() ? 0 : row->second.live_at_peak;
    range.least = std::min(range.least, live);
    range.most = std::max(range.most, live);
  }
  return range;
}

}  // namespace

TEST_CASE("a program that is killed leaves what it asked for until the last interval") {
  TemporaryFolder folder;
  // The report after the next one begins when all is there.
  const std::string script =
      kWait +
      "push @all, 'x' x 5000 . $_ for 1 .. 1000; my @reports = glob '*.json';"
      "await(@reports + 2); kill KILL => $$";
  const Outcome outcome = recorded({"perl", "-e", script}, "%n.json")
                              .in(folder.path())
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.signal == SIGKILL);
  CHECK(outcome.err.empty());
  const std::vector<Json> all = recordings(folder);
  REQUIRE(all.size() >= 2);
  CHECK(live_between(rows_of(all.back()), 5000, 5100) >= 1000);
  CHECK(all.back().at("peak_bytes") == bytes_at_peak(rows_of(all.back())));
  CHECK(all.back().at("peak_bytes") >= all.front().at("peak_bytes"));
}

TEST_CASE("each order writes the sizes, the numbered files are one process, tune takes its last") {
  TemporaryFolder folder;
  const std::string script =
      "$id = $$; $ENV{PKTMALLOC_SIZES} = 0;"
      "for my $n (1 .. 3) { @all = map { 'x' x (2000 + 1000 * $n) . $_ } 1 .. 100;"
      "system $ENV{COMMAND}, 'tell', $id, 'sizes' and die }";
  const Outcome outcome = recorded({"perl", "-e", script}, "%n.json")
                              .in(folder.path())
                              .with("COMMAND", build_path("pktmalloc"))
                              .with("PKTMALLOC_CONTROL", "1")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  const std::vector<Json> all = recordings(folder);
  REQUIRE(all.size() == 4);  // and the one at exit
  for (size_t i = 0; i < 3; ++i) {
    CHECK(live_between(rows_of(all[i]), 3000 + 1000 * i, 3100 + 1000 * i) >= 100);
    CHECK(all[i].at("pid") == all[3].at("pid"));
    CHECK(all[i].at("started") == all[3].at("started"));
  }
  const std::string last = folder / "00004.json";
  const Outcome of_last = tune({last, "--json"});
  const Outcome of_all =
      tune({last, folder / "00001.json", folder / "00003.json", folder / "00002.json", "--json"});
  INFO(of_all);
  REQUIRE(of_all.status == 0);
  Json tuning = Json::parse(of_all.out);
  CHECK(tuning.at("earlier_recordings") == 3);
  tuning["earlier_recordings"] = 0;
  CHECK(tuning == Json::parse(of_last.out));
  const Outcome text = tune({last, folder / "00001.json"});
  CHECK(text.out.find("1 recording of perl: ") == 0);
  CHECK(text.out.find("\nof each process its last file; 1 earlier one left out\n") !=
        std::string::npos);
}

TEST_CASE("a report tells one peak, whole, while threads go on to the next") {
  for (const uint64_t threads : {1, 4}) {
    TemporaryFolder folder;
    const Outcome outcome = recorded({program_path("peaks_of_two_groups_in_turn"),
                                      std::to_string(threads), "00100.json"},
                                     "%n.json")
                                .in(folder.path())
                                .with("PKTMALLOC_CONTROL", "1")
                                .run();
    INFO(outcome);
    CHECK(outcome.clean());
    const std::vector<Json> all = recordings(folder);
    CHECK(all.size() >= 100);
    size_t of_odd = 0;
    uint64_t peak = 0;
    for (const Json& recording : all) {
      const Rows rows = rows_of(recording);
      Range even = range_of(rows, 0);
      Range odd = range_of(rows, 1);
      if (even.most < odd.most) {
        std::swap(even, odd);
        ++of_odd;
      }
      // A size has one more for each thread that was there already, and each thread may have been
      // inside malloc.
      CHECK(even.most <= even.least + 2 * threads);
      CHECK(odd.most <= threads);
      const uint64_t told = recording.at("peak_bytes");
      const uint64_t summed = bytes_at_peak(rows);
      CHECK(summed <= told + 900 * threads);
      CHECK(told <= summed + 900 * threads);
      CHECK(told >= peak);
      peak = told;
      CHECK(recording.at("missing") == 0);
    }
    CHECK(of_odd > 0);
    CHECK(of_odd < all.size());
  }
}

TEST_CASE("the child of a fork is another process, with numbers and a start of its own") {
  TemporaryFolder folder;
  const std::string script =
      "$child = fork; push @a, 'x' x ($n = ($n + 97) % 9000) and select undef, undef, undef, .01 "
      "until -e \"$$.00002.json\"; waitpid $child, 0 if $child; exit($? >> 8)";
  const Outcome outcome = recorded({"perl", "-e", script}, "%p.%n.json")
                              .in(folder.path())
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  std::map<int, std::set<double>> starts;
  for (const Json& recording : recordings(folder)) {
    starts[recording.at("pid")].insert(recording.at("started").get<double>());
  }
  REQUIRE(starts.size() == 2);
  CHECK(starts.begin()->second.size() == 1);
  CHECK(starts.rbegin()->second.size() == 1);
  CHECK(starts.begin()->second != starts.rbegin()->second);
  const Outcome tuned = Program({"sh", "-c", build_path("pktmalloc") + " tune *.json --json"})
                            .in(folder.path())
                            .run();
  INFO(tuned);
  REQUIRE(tuned.status == 0);
  CHECK(Json::parse(tuned.out).at("recordings") == 2);
}

TEST_CASE("programs with threads, forks and signals end as ever under a storm of reports",
          "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_handlers_may_allocate",
        "signals_interrupt_allocations", "detached_threads_work_while_main_exits",
        "vfork_and_exec_leave_the_parent_intact", "free_in_another_thread",
        "process_ends_with_its_last_thread"}) {
    TemporaryFolder folder;
    const std::string script = program_path(name) + " & while kill -0 $! 2> /dev/null; do " +
                               "LD_PRELOAD= " + build_path("pktmalloc") +
                               " tell $! sizes > /dev/null 2>&1; done; wait $!";
    const Outcome outcome = recorded({"bash", "-c", script}, folder / "%p.json")
                                .with("PKTMALLOC_CONTROL", "1")
                                .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                                .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    recordings(folder);  // each is whole
  }
}

TEST_CASE("pktmalloc run: sizes by interval or order, and no statistics that nobody asked for") {
  TemporaryFolder folder;
  const std::string order = "LD_PRELOAD= " + build_path("pktmalloc") + " tell $$ sizes > told; ";
  for (const std::string when : {"--interval=100ms", "--control"}) {
    const std::string script = (when == "--control" ? order : "") +
                               "until [ -e $$.00001.json ]; do sleep 0.02; done; kill -KILL $$";
    const Outcome outcome = Program({build_path("pktmalloc"), "run", "--sizes=%p.%n.json", when,
                                     "--", "bash", "-c", script})
                                .in(folder.path())
                                .run();
    INFO(when << ": " << outcome);
    CHECK(outcome.signal == SIGKILL);
    CHECK(outcome.out.empty());
    // The command writes what came after the last report, and that alone.
    CHECK(outcome.err.find("sizes are in ") != std::string::npos);
    CHECK(outcome.err.find("statistics") == std::string::npos);
  }
  // What the environment names is enough, too.
  for (const std::string name : {"PKTMALLOC_STATS", "PKTMALLOC_PROFILE", "PKTMALLOC_SIZES"}) {
    const Outcome outcome =
        Program({build_path("pktmalloc"), "run", "--interval=10s", program_path("hello")})
            .in(folder.path())
            .with(name, "./" + name)
            .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.status == 7);
    CHECK(outcome.err.empty());
    CHECK(folder.read(name).size() > 100);
  }
}
