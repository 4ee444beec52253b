// SPDX-License-Identifier: MIT
// pktmalloc replay: traces of real programs are played, damaged ones are read up to the damage.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tests/terminal.h"
#include "tools/command/replay/trace.h"

using nlohmann::json;
using pktmalloc::Call;
using pktmalloc::CallKind;
using pktmalloc::read_trace;
using pktmalloc::Trace;

namespace {

Program replay(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "replay"});
  return Program(arguments);
}

Outcome record(std::vector<std::string> argv, const std::string& path,
               const std::string& folder = "/") {
  return Program(std::move(argv))
      .preloaded()
      .with("PKTMALLOC_TRACE", path)
      .with("PYTHONMALLOC", "malloc")
      .in(folder)
      .run();
}

// Every allocation and every release is played, under every allocator.
void check_played_whole(const std::string& path) {
  const Trace trace = read_trace(path);
  CHECK(trace.warning.empty());
  CHECK(trace.unseen_releases == 0);
  REQUIRE(trace.objects > 0);
  const Outcome outcome = replay({path, "--json", "-n", "1", "--with", "glibc,pktmalloc"}).run();
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  const json told = json::parse(outcome.out);
  CHECK(told["whole"] == true);
  REQUIRE(told["allocators"].size() == 3);
  const auto count = [&](auto... kinds) {
    return std::count_if(trace.calls.begin(), trace.calls.end(),
                         [&](const Call& call) { return ((call.kind == kinds) || ...); });
  };
  for (const json& allocator : told["allocators"]) {
    CHECK(allocator["allocations"] == count(CallKind::kAllocate, CallKind::kAllocateZeroed));
    CHECK(allocator["reallocations"] == count(CallKind::kReallocate));
    CHECK(allocator["releases"] == count(CallKind::kRelease));
    CHECK(allocator["time_ms"] > 0);
    if (allocator["name"] == "nothing") continue;
    CHECK(allocator["refused"] == 0);
    CHECK(allocator["peak_rss_bytes"] >= allocator["end_rss_bytes"]);
    CHECK(allocator["malloc_p50_ns"] <= allocator["malloc_p99_ns"]);
    CHECK(allocator["free_p99_ns"] <= allocator["free_p99_9_ns"]);
  }
}

std::string small_trace(const TemporaryFolder& folder) {
  REQUIRE(record({program_path("known_calls")}, folder / "small").clean());
  return folder.read("small");
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(text.substr(at, end - at));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

TEST_CASE("what threads do is played whole", "[.long]") {
  for (const std::string name :
       {"known_calls", "everything_at_once", "fork_storm_from_many_threads",
        "cancelled_threads_free_in_their_handlers", "free_in_another_thread",
        "realloc_in_another_thread", "thread_churn_is_bounded", "statistics_are_exact"}) {
    TemporaryFolder folder;
    INFO(name);
    CHECK(record({program_path(name)}, folder / "t").clean());
    check_played_whole(folder / "t");
  }
}

TEST_CASE("python3 and sqlite3 are played whole") {
  const std::string sql =
      "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE "
      "i<20000) INSERT INTO t SELECT i, printf('%050d', i) FROM n; SELECT count(*) FROM t ORDER BY "
      "b;";
  const std::string python =
      "import json, threading\n"
      "def work(): json.loads(json.dumps([{'a': i} for i in range(3000)]))\n"
      "threads = [threading.Thread(target=work) for i in range(4)]\n"
      "for t in threads: t.start()\n"
      "for t in threads: t.join()";
  for (const auto& argv : std::vector<std::vector<std::string>>{{"/usr/bin/python3", "-c", python},
                                                                {"sqlite3", ":memory:", sql}}) {
    if (!at_hand(argv[0])) continue;
    TemporaryFolder folder;
    INFO(argv[0]);
    CHECK(record(argv, folder / "t", folder.path()).status == 0);
    check_played_whole(folder / "t");
  }
}

// A library that tells of each calloc and realloc above 10,000 bytes.
TEST_CASE("calloc is played as calloc, and realloc as realloc of the object") {
  TemporaryFolder folder;
  REQUIRE(record({program_path("known_calls")}, folder / "t").clean());
  const Outcome outcome =
      replay({folder / "t", "-n", "1", "--with", "told=" + build_path("tests/plugins/told.so")})
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::string calls =
      "calloc 30111\n"
      "realloc to 20011 of 10009\n"
      "realloc to 3000017 of 20011\n"
      "realloc to 4000037 of 3000017\n"
      "realloc to 20021 of 4000037\n";
  // Played twice, without and with a clock.
  CHECK(sorted_lines(outcome.err) == sorted_lines(calls + calls));
  CHECK(outcome.out.find("             realloc ") != std::string::npos);
}

TEST_CASE("an object that grows in place is not counted twice") {
  TemporaryFolder folder;
  // Grows to 64 MiB by steps of 64 KiB.
  REQUIRE(record({"/usr/bin/python3", "-c",
                  "x = bytearray()\nfor i in range(1024): x.extend(bytes(1 << 16))"},
                 folder / "t")
              .clean());
  const Outcome outcome = replay({folder / "t", "--json", "-n", "1", "--with", "glibc"}).run();
  INFO(outcome);
  const json told = json::parse(outcome.out)["allocators"][0];
  CHECK(told["reallocations"] > 100);
  CHECK(told["peak_rss_bytes"] < 96 << 20);
  CHECK(told["realloc_p50_ns"] <= told["realloc_p99_ns"]);
}

TEST_CASE("redis-server under redis-benchmark is played whole", "[.long]") {
  skip_without({"redis-server", "redis-benchmark"});
  TemporaryFolder folder;
  const std::string script =
      "LD_PRELOAD=" + library_path() +
      " PKTMALLOC_TRACE=./t redis-server --port 0 --unixsocket $PWD/socket --save '' "
      "--io-threads 2 > log 2>&1 & until [ -S socket ]; do sleep 0.05; done; "
      "redis-benchmark -s socket -q -n 3000 -c 20 -P 5 -t set,lpush,hset > /dev/null; "
      "redis-cli -s socket shutdown nosave; wait";
  const Outcome outcome = Program({"sh", "-c", script}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  check_played_whole(folder / "t");
}

TEST_CASE("a cut trace is played as far as it goes, after a line that says where it ends") {
  TemporaryFolder folder;
  REQUIRE(record({program_path("free_in_another_thread")}, folder / "t").clean());
  const std::string bytes = folder.read("t");
  folder.write("cut", bytes.substr(0, bytes.size() / 2));
  const Outcome outcome = replay({folder / "cut", "-n", "1", "--with", "glibc"}).run();
  INFO(outcome);
  CHECK(outcome.status == 1);
  CHECK(outcome.err.find("pktmalloc: " + folder / "cut" + ": it is cut off in a block at byte ") ==
        0);
  CHECK(outcome.out.find("\n  glibc ") != std::string::npos);
  CHECK(replay({folder / "cut", "--info"}).run().status == 1);
}

TEST_CASE("progress is shown on a terminal; an interruption prints what there is") {
  skip_without({"tmux"});
  TemporaryFolder folder;
  REQUIRE(record({program_path("known_calls")}, folder / "t").clean());
  Terminal terminal(100, 60);
  terminal.command(build_path("pktmalloc") + " replay " + (folder / "t") +
                   " -n 1000 --with glibc,pktmalloc; echo sta''tus=$?");
  terminal.until([](const std::string& text) {  // a round is three runs
    const size_t at = text.find("run ");
    return at != std::string::npos && text.find(" of 3000: ") != std::string::npos &&
           std::atoi(text.c_str() + at + 4) > 3;
  });
  terminal.press("C-c");
  const std::string screen = terminal.until("\nstatus=");
  INFO(screen);
  CHECK(screen.find("interrupted; this is of the runs before") != std::string::npos);
  CHECK(screen.find("\n  pktmalloc ") != std::string::npos);
  CHECK(screen.find("\nstatus=130") != std::string::npos);
}

TEST_CASE("an interruption ends all runs, however long each of them takes") {
  skip_without({"tmux"});
  TemporaryFolder folder;
  REQUIRE(record({"perl", "-e", "sleep 1; my @a = map { $_ x 99 } 1 .. 99"}, folder / "t").clean());
  Terminal terminal(100, 60);
  terminal.command(build_path("pktmalloc") + " replay " + (folder / "t") +
                   " --speed real -n 1000 --with glibc; echo sta''tus=$?");
  terminal.until("run 3 of 1000: ");
  terminal.press("C-c");
  CHECK(terminal.until("\nstatus=").find("\nstatus=130") != std::string::npos);
}

TEST_CASE("a replay tells how the runs spread, and whether allocators differ") {
  TemporaryFolder folder;
  REQUIRE(record({program_path("known_calls")}, folder / "t").clean());
  const Outcome text = replay({folder / "t", "-n", "5", "--with", "glibc,pktmalloc"}).run();
  INFO(text);
  for (const std::string part : {"time              median      mean   +- 95 %     least      most",
                                 "\npeak RSS ", "\ncalls, ns ", "\nLeast time: "}) {
    CHECK(("\n" + text.out).find(part) != std::string::npos);
  }
  const json told =
      json::parse(replay({folder / "t", "-n", "3", "--json", "--with", "glibc"}).run().out);
  const json& glibc = told["allocators"][0];
  const auto runs = glibc["time_runs_ms"].get<std::vector<double>>();
  REQUIRE(runs.size() == 3);
  CHECK(std::is_sorted(runs.begin(), runs.end()));
  CHECK(glibc["time_ms"] == runs[1]);
  CHECK(glibc["time_mean_ms"].get<double>() == Approx((runs[0] + runs[1] + runs[2]) / 3));
  CHECK(told["interrupted"] == false);
}

TEST_CASE("what is no trace is told in one line, with status 2") {
  TemporaryFolder folder;
  const std::string small = small_trace(folder);
  std::string version = small;
  version[8] = 9;
  const std::pair<std::string, std::string> rows[] = {
      {"", " is not a trace of pktmalloc (PKTMALLOC_TRACE=FILE writes one)\n"},
      {"{\"schema\": 1}", " is not a trace of pktmalloc (PKTMALLOC_TRACE=FILE writes one)\n"},
      {small.substr(0, 50), " ends in the header of its trace\n"},
      {small.substr(0, 112), ", and nothing before it can be played\n"},
      {version, " is a trace of version 9; this pktmalloc reads version 2\n"}};
  for (const auto& [bytes, line] : rows) {
    folder.write("t", bytes);
    const Outcome outcome = replay({folder / "t", "--with", "glibc"}).run();
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("pktmalloc: " + folder / "t") == 0);
    CHECK(outcome.err.find(line) == outcome.err.find('\n') + 1 - line.size());
  }
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {folder / "none"},
           {folder.path()},
           {folder / "small", "--with", "nosuch"},
           {folder / "small", "--with", "mine=/none.so"},
           {folder / "small", "--with", "glibc=" + build_path("libpktmalloc.so")},
           {folder / "small", "--speed", "half"},
           {folder / "small", "-n", "0"},
           {}}) {
    const Outcome outcome = replay(arguments).run();
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("pktmalloc: ") == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("a library that cannot be preloaded is told, not glibc measured in its name") {
  TemporaryFolder folder;
  small_trace(folder);
  folder.write("no.so", "text");
  const Outcome outcome =
      replay({folder / "small", "-n", "1", "--with", "mine=" + folder / "no.so"}).run();
  INFO(outcome);
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("pktmalloc: the replay under mine failed\n") != std::string::npos);
}

TEST_CASE("any library by name, from stdin, at the speed of the program") {
  TemporaryFolder folder;
  REQUIRE(record({"perl", "-e",
                  "for (1 .. 20) { $a{$_} = 'x' x 30000; select undef, undef, undef, "
                  ".02 }"},
                 folder / "t")
              .clean());
  const Trace trace = read_trace(folder / "t");
  const double ms = static_cast<double>(trace.calls.back().time_ns - trace.calls[0].time_ns) / 1e6;
  REQUIRE(ms >= 400);
  const std::string command = build_path("pktmalloc") +
                              " replay - --json -n 1 --speed real --with " +
                              "ours=" + library_path() + " < t";
  const Outcome outcome = Program({"sh", "-c", command}).in(folder.path()).run();
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  const json told = json::parse(outcome.out);
  REQUIRE(told["allocators"].size() == 1);
  CHECK(told["allocators"][0]["name"] == "ours");
  CHECK(told["allocators"][0]["time_ms"] > ms * 0.9);
}

TEST_CASE("--info tells what the trace holds") {
  TemporaryFolder folder;
  REQUIRE(record({program_path("statistics_are_exact")}, folder / "t").clean());
  const Outcome text = replay({folder / "t", "--info"}).run();
  INFO(text);
  CHECK(text.status == 0);
  CHECK(text.out.find("statistics_are_exact") == 0);
  CHECK(text.out.find("most bytes at once") != std::string::npos);
  const Outcome outcome = replay({folder / "t", "--info", "--json"}).run();
  const json told = json::parse(outcome.out);
  const Trace trace = read_trace(folder / "t");
  CHECK(told["threads"] == trace.threads);
  CHECK(told["allocations"].get<size_t>() + told["reallocations"].get<size_t>() == trace.objects);
  CHECK(told["allocations"].get<int>() - told["releases"].get<int>() == told["live_objects"]);
  CHECK(told["live_bytes"] >= 1234 * 640 + 77 * 49152 + 5 * (4 << 20));
  CHECK(told["peak_bytes"] >= told["live_bytes"]);
  CHECK(told["file_bytes"] < 8 * trace.calls.size());
  for (const json& size : told["sizes"]) {
    if (size["bytes"] == 4 << 20) CHECK(size["requests"] == 5);
  }
}

TEST_CASE("touched pages are in the peak, and given back memory is not in the end") {
  TemporaryFolder folder;
  REQUIRE(
      record({"/usr/bin/python3", "-c", "x = bytearray(100 << 20); del x"}, folder / "t").clean());
  const Outcome outcome = replay({folder / "t", "--json", "-n", "1", "--with", "glibc"}).run();
  INFO(outcome);
  const json told = json::parse(outcome.out)["allocators"][0];
  CHECK(told["peak_rss_bytes"] > 100 << 20);
  CHECK(told["end_rss_bytes"] < 50 << 20);
  const Outcome untouched =
      replay({folder / "t", "--json", "--untouched", "-n", "1", "--with", "glibc"}).run();
  CHECK(json::parse(untouched.out)["allocators"][0]["peak_rss_bytes"] < 50 << 20);
}
