// SPDX-License-Identifier: MIT
// Traces whose name ends in .zst: written as frames of zstd, read by what is in them.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tools/command/replay/trace.h"

using pktmalloc::Call;
using pktmalloc::read_trace;
using pktmalloc::Trace;

namespace {

const std::vector<std::string> kSqlite = {
    "sqlite3", ":memory:",
    "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE "
    "i<20000) INSERT INTO t SELECT i, printf('%050d', i) FROM n; SELECT count(*) FROM t ORDER BY "
    "b;"};

Program traced(std::vector<std::string> argv, const std::string& path) {
  return Program(std::move(argv))
      .preloaded()
      .with("PKTMALLOC_TRACE", path)
      .with("PYTHONMALLOC", "malloc");
}

// As `zstd -dc` has it.
std::string decompressed(const std::string& path) {
  const Outcome outcome = Program({"zstd", "-dc", path}).run();
  INFO(path << ": " << outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

// What the file itself holds is what the reader finds in it.
Trace check_compressed(const TemporaryFolder& folder, const std::string& name) {
  const Trace trace = read_trace(folder / name);
  folder.write("plain", decompressed(folder / name));
  const Trace plain = read_trace(folder / "plain");
  CHECK((trace.calls == plain.calls));
  CHECK(trace.header.state == plain.header.state);
  CHECK(trace.warning.empty() == plain.warning.empty());
  CHECK(trace.uncompressed_bytes == plain.bytes);
  CHECK(trace.bytes == std::filesystem::file_size(folder / name));
  return trace;
}

// What is played must not depend on the form of the file.
std::string info_of(const std::string& path) {
  const Outcome outcome = Program({build_path("pktmalloc"), "replay", path, "--info"}).run();
  CHECK(outcome.status == 0);
  std::string text = outcome.out;
  const size_t file = text.find("  file  ");
  return text.erase(file, text.find("\n\n") - file);
}

}  // namespace

TEST_CASE("what zstd makes of the file is the trace, of real programs and of threads") {
  const std::string python =
      "import json, threading\n"
      "def work(): json.loads(json.dumps([{'a': i} for i in range(3000)]))\n"
      "threads = [threading.Thread(target=work) for i in range(4)]\n"
      "for t in threads: t.start()\n"
      "for t in threads: t.join()";
  for (const auto& argv :
       std::vector<std::vector<std::string>>{kSqlite,
                                             {"/usr/bin/python3", "-c", python},
                                             {program_path("statistics_are_exact")},
                                             {program_path("known_calls", "shared")},
                                             {program_path("known_calls", "static")}}) {
    TemporaryFolder folder;
    INFO(argv[0]);
    const Outcome outcome = traced(argv, folder / "t.zst").run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    const Trace trace = check_compressed(folder, "t.zst");
    CHECK(trace.warning.empty());
    CHECK(trace.unseen_releases == 0);
    CHECK(trace.objects > 10);
    if (trace.calls.size() > 50000) CHECK(trace.bytes < trace.uncompressed_bytes * 9 / 10);
    CHECK(info_of(folder / "t.zst") == info_of(folder / "plain"));
  }
}

TEST_CASE("a program may have functions of zstd's names") {
  TemporaryFolder folder;
  const Outcome outcome =
      traced(kSqlite, folder / "t.zst")
          .with("LD_PRELOAD", library_path() + " " + build_path("tests/plugins/other_zstd.so"))
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(check_compressed(folder, "t.zst").warning.empty());
}

TEST_CASE("redis-server is recorded compressed and played", "[.long]") {
  skip_without({"redis-server", "redis-benchmark"});
  TemporaryFolder folder;
  const std::string script =
      "LD_PRELOAD=" + library_path() +
      " PKTMALLOC_TRACE=./t.zst redis-server --port 0 --unixsocket $PWD/socket --save '' "
      "--io-threads 2 > log 2>&1 & until [ -S socket ]; do sleep 0.05; done; "
      "redis-benchmark -s socket -q -n 3000 -c 20 -P 5 -t set,lpush,hset > /dev/null; "
      "redis-cli -s socket shutdown nosave; wait";
  CHECK(Program({"sh", "-c", script}).in(folder.path()).run().status == 0);
  const Trace trace = check_compressed(folder, "t.zst");
  CHECK(trace.warning.empty());
  CHECK(trace.threads > 1);
  const Outcome played =
      Program(
          {"sh", "-c",
           build_path("pktmalloc") + " replay - -n 1 --with glibc,pktmalloc < " + folder / "t.zst"})
          .run();
  INFO(played);
  CHECK(played.status == 0);
  CHECK(played.err.empty());
}

TEST_CASE("compressing allocates nothing: the calls recorded are those recorded without it") {
  const auto calls_in = [](const std::string& name) {
    TemporaryFolder folder;
    CHECK(traced(kSqlite, folder / name).run().status == 0);
    const Trace trace = read_trace(folder / name);
    CHECK(trace.uncompressed_bytes > 4 * pktmalloc::trace::kMostBlockBytes);
    std::vector<std::tuple<pktmalloc::CallKind, uint64_t, uint32_t>> calls;
    for (const Call& c : trace.calls) calls.emplace_back(c.kind, c.bytes, c.object);
    return calls;
  };
  CHECK(calls_in("t.zst") == calls_in("t.raw"));
}

TEST_CASE("threads, signals, forks, the smallest stacks and limits go through the compressor",
          "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "fork_in_a_signal_handler", "signals_interrupt_allocations",
        "cancelled_threads_free_in_their_handlers", "threads_with_the_smallest_stacks",
        "realloc_in_another_thread", "free_keeps_errno"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({program_path(name)}, folder / "%p.zst").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    size_t whole = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().extension() != ".zst") continue;
      const Trace trace = check_compressed(folder, entry.path().filename());
      CHECK((trace.warning.empty() || trace.warning.find(": it has no end") != std::string::npos));
      CHECK(trace.unseen_releases == 0);
      whole += trace.warning.empty();
    }
    CHECK(whole >= 1);
  }
  for (const rlim_t mebibytes : {48, 1024}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({program_path("work_under_limits")}, folder / "t.zst")
                                .limit(RLIMIT_DATA, mebibytes << 20)
                                .run();
    INFO(outcome);
    CHECK(outcome.err.empty());
    CHECK(check_compressed(folder, "t.zst").warning.empty());
  }
}

TEST_CASE("what is left of a killed program is a whole file of zstd") {
  for (const std::string end : {"os._exit(3)", "os.kill(os.getpid(), 9)"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({"/usr/bin/python3", "-c",
                                    "import os\nx = [bytes(1000) for i in range(100000)]\n" + end},
                                   folder / "t.zst")
                                .run();
    CHECK(outcome.err.empty());
    const Trace trace = check_compressed(folder, "t.zst");
    CHECK(trace.warning.find(" was killed, ended by _exit or is still running") !=
          std::string::npos);
    CHECK(trace.calls.size() > 90000);
  }
}

TEST_CASE("a full disk leaves whole frames, and the header says that the trace ended early") {
  TemporaryFolder folder;
  const Outcome limited = traced({program_path("free_in_another_thread")}, folder / "t.zst")
                              .limit(RLIMIT_FSIZE, 100000)
                              .run();
  INFO(limited);
  CHECK(limited.status == 0);
  CHECK(limited.err ==
        "pktmalloc: the trace " + folder / "t.zst" + " ends early: File too large\n");
  const Trace trace = check_compressed(folder, "t.zst");
  CHECK(trace.warning == folder / "t.zst" + ": the trace ended before its program, which said why");
  CHECK(trace.calls.size() > 1000);
}

TEST_CASE("a forked child has a compressed trace of its own") {
  TemporaryFolder folder;
  const std::string script =
      "$child = fork; @a = map { 'x' x ($_ % 3000) } 1 .. 50000; waitpid $child, 0 if $child";
  CHECK(traced({"perl", "-e", script}, folder / "%p.zst").run().clean());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  REQUIRE(names.size() == 2);
  int children = 0;
  for (const std::string& name : names) {
    const Trace trace = check_compressed(folder, name);
    INFO(name << ": " << trace.warning);
    CHECK(trace.warning.empty());
    CHECK(trace.calls.size() > 50000);
    CHECK(trace.bytes < trace.uncompressed_bytes);
    children += trace.header.forked_from != 0;
  }
  CHECK(children == 1);
}

TEST_CASE("without a usable libzstd one line says so, and the frames hold the trace as it is") {
  TemporaryFolder folder;
  REQUIRE(mkdir((folder / "broken").c_str(), 0700) == 0);
  REQUIRE(mkdir((folder / "other").c_str(), 0700) == 0);
  folder.write("broken/libzstd.so.1", "text");
  REQUIRE(symlink(build_path("tests/plugins/window.so").c_str(),
                  (folder / "other/libzstd.so.1").c_str()) == 0);
  const std::pair<std::string, std::string> rows[] = {
      {"broken", folder / "broken/libzstd.so.1: file too short"},
      {"other", folder / "other/libzstd.so.1: undefined symbol: ZSTD_estimateCCtxSize"}};
  for (const auto& [name, why] : rows) {
    const Outcome outcome = traced({program_path("known_calls")}, folder / "t.zst")
                                .with("LD_LIBRARY_PATH", folder / name)
                                .run();
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err ==
          "pktmalloc: the trace " + folder / "t.zst" + " is not compressed: " + why + "\n");
    const Trace trace = check_compressed(folder, "t.zst");
    CHECK(trace.warning.empty());
    CHECK(trace.bytes > trace.uncompressed_bytes);
  }
}

TEST_CASE("a compressed trace goes through a pipe") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe.zst").c_str(), 0600) == 0);
  // The pipe has its reader before the program begins.
  const std::string program = "exec 3> pipe.zst; LD_PRELOAD=" + library_path() +
                              " PKTMALLOC_TRACE=./pipe.zst " + program_path("known_calls");
  const Outcome outcome =
      Program({"sh", "-c", "cat pipe.zst > t & " + program + " 3>&-; exec 3>&-; wait"})
          .in(folder.path())
          .run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(check_compressed(folder, "t").warning.empty());
}

TEST_CASE("a trace that zstd compressed is read, whatever its name; pktmalloc run writes one") {
  TemporaryFolder folder;
  const std::string script = build_path("pktmalloc") +
                             " run --trace=t.zst -- sqlite3 :memory: 'select 1' && zstd -dcq t.zst "
                             "> plain && zstd -19q plain -o t.bin";
  const Outcome outcome = Program({"sh", "-c", script}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const Trace trace = read_trace(folder / "t.bin");
  CHECK(trace.warning.empty());
  CHECK((trace.calls == read_trace(folder / "t.zst").calls));
}
