// SPDX-License-Identifier: MIT
// PKTMALLOC_TRACE: what is recorded of programs.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"
#include "tools/command/replay/trace.h"

using pktmalloc::Call;
using pktmalloc::CallKind;
using pktmalloc::read_trace;
using pktmalloc::Trace;

namespace {

Program traced(std::vector<std::string> argv, const std::string& path) {
  return Program(std::move(argv)).preloaded().with("PKTMALLOC_TRACE", path);
}

// "allocate 10039 aligned 256", "resize 10009 to 20011", "release 10007", of objects above 10,000
// bytes.
std::vector<std::string> calls_of(const Trace& trace) {
  std::vector<uint64_t> sizes(trace.objects);
  std::vector<std::string> calls;
  for (const Call& call : trace.calls) {
    if (call.kind != CallKind::kRelease) sizes[call.object] = call.bytes;
    const std::string bytes = std::to_string(sizes[call.object]);
    if (sizes[call.object] <= 10000) continue;
    if (call.kind == CallKind::kRelease) calls.push_back("release " + bytes);
    if (call.kind == CallKind::kAllocateZeroed) calls.push_back("zeroed " + bytes);
    if (call.kind == CallKind::kReallocate) {
      calls.push_back("resize " + std::to_string(sizes[call.from]) + " to " + bytes);
    }
    if (call.kind == CallKind::kAllocate) {
      const int log2 = call.alignment_log2;
      calls.push_back("allocate " + bytes +
                      (log2 > 0 ? " aligned " + std::to_string(1 << log2) : ""));
    }
  }
  return calls;
}

std::map<uint64_t, int> live_by_size(const Trace& trace) {
  std::map<uint32_t, uint64_t> live;
  for (const Call& call : trace.calls) {
    if (call.kind == CallKind::kRelease) live.erase(call.object);
    if (call.kind == CallKind::kReallocate) live.erase(call.from);
    if (call.kind != CallKind::kRelease) live[call.object] = call.bytes;
  }
  std::map<uint64_t, int> sizes;
  for (const auto& [object, bytes] : live) ++sizes[bytes];
  return sizes;
}

std::vector<std::string> files_of(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// Each release has its allocation, by times that order the calls of all threads, and each thread's
// times never fall.
void check_order(const Trace& trace) {
  CHECK(trace.unseen_releases == 0);
  uint64_t before = 0;
  std::vector<bool> lives(trace.objects);
  for (const Call& call : trace.calls) {
    if (call.time_ns < before) FAIL("calls are out of order");
    before = call.time_ns;
    if (call.kind == CallKind::kReallocate && !lives[call.from]) FAIL("resized what is not there");
    if (call.kind == CallKind::kReallocate) lives[call.from] = false;
    if (call.kind == CallKind::kRelease && !lives[call.object]) FAIL("released twice");
    lives[call.object] = call.kind != CallKind::kRelease;
  }
}

}  // namespace

TEST_CASE("a program with known calls gives exactly these records") {
  const std::vector<std::string> expected = {"allocate 10007",
                                             "release 10007",
                                             "allocate 10009",
                                             "resize 10009 to 20011",
                                             "resize 20011 to 3000017",
                                             "resize 3000017 to 4000037",
                                             "resize 4000037 to 20021",
                                             "release 20021",
                                             "zeroed 30111",
                                             "release 30111",
                                             "allocate 10039 aligned 256",
                                             "release 10039",
                                             "allocate 10061 aligned 65536",
                                             "release 10061",
                                             "allocate 5000011 aligned 32",
                                             "release 5000011",
                                             "allocate 10067",
                                             "release 10067",
                                             "allocate 70001"};
  for (const std::string way : {"plain", "shared", "static"}) {
    TemporaryFolder folder;
    Program program({program_path("known_calls", way)});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_TRACE", folder / "t").run();
    INFO(way << ": " << outcome);
    CHECK(outcome.clean());
    const Trace trace = read_trace(folder / "t");
    CHECK(trace.warning.empty());
    CHECK(calls_of(trace) == expected);
    CHECK(trace.threads >= 2);
    CHECK(std::string(trace.program()).find("known_calls") == 0);
    check_order(trace);
  }
}

TEST_CASE("a batch gives the records of as many single calls") {
  const std::vector<std::string> expected = {
      "allocate 10007",  "allocate 10007", "allocate 10007", "allocate 3000017", "allocate 3000017",
      "release 3000017", "release 10007",  "release 10007",  "release 3000017"};
  TemporaryFolder folder;
  const Outcome outcome = traced({program_path("known_batches")}, folder / "t").run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Trace trace = read_trace(folder / "t");
  CHECK(calls_of(trace) == expected);
  check_order(trace);
}

TEST_CASE("objects that other threads resize stay the same objects") {
  TemporaryFolder folder;
  CHECK(traced({program_path("realloc_in_another_thread")}, folder / "t").run().clean());
  const Trace trace = read_trace(folder / "t");
  CHECK(trace.warning.empty());
  check_order(trace);
  int resized = 0, by_others = 0, released = 0;
  std::vector<uint32_t> owners(trace.objects);
  for (const Call& call : trace.calls) {
    if (call.kind == CallKind::kReallocate) {
      ++resized;
      by_others += owners[call.from] != call.thread;
    }
    released += call.kind == CallKind::kRelease;
    owners[call.object] = call.thread;
  }
  // Three threads, 600 objects, 20 rounds; the first is an allocation. Nearly all are another's.
  CHECK(resized >= 3 * 600 * 19);
  CHECK(by_others > 3 * 600 * 17);
  CHECK(released < 2500);
}

TEST_CASE("what four threads exchanged and what they left is what the trace says") {
  TemporaryFolder folder;
  const Outcome outcome = traced({program_path("statistics_are_exact")}, folder / "t").run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Trace trace = read_trace(folder / "t");
  CHECK(trace.warning.empty());
  check_order(trace);
  auto live = live_by_size(trace);
  CHECK(live[640] == 1234);
  CHECK(live[49152] == 77);
  CHECK(live[4 << 20] == 5);
  CHECK(trace.objects >= 4 * 50000 + 1234 + 77 + 5);
}

TEST_CASE("programs with threads, signals and cancellation run and are recorded whole", "[.long]") {
  for (const std::string name :
       {"thread_churn_is_bounded", "cancelled_threads_free_in_their_handlers",
        "signals_interrupt_allocations", "free_in_another_thread", "realloc_in_another_thread",
        "allocation_in_key_destructors", "allocation_in_thread_local_destructors",
        "allocation_is_no_cancellation_point", "longjmp_out_of_a_signal_handler",
        "producers_and_consumers_stay_bounded", "free_keeps_errno"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({program_path(name)}, folder / "t").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    const Trace trace = read_trace(folder / "t");
    CHECK(trace.warning.empty());
    check_order(trace);
  }
}

TEST_CASE("programs that fork run and are recorded, and so are their children", "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "fork_in_a_signal_handler", "fork_handlers_may_allocate", "fork_child_works_without_exec",
        "vfork_and_exec_leave_the_parent_intact", "spawned_programs_run"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({program_path(name)}, folder / "%p").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    size_t own = 0;
    for (const std::string& each : files_of(folder)) {
      const Trace trace = read_trace(folder / each);
      INFO(each << ": " << trace.warning);
      // Of what ends by _exit the last buffers are missing, never the middle.
      CHECK((trace.warning.empty() || trace.warning.find(": it has no end") != std::string::npos));
      if (name != "fork_handlers_may_allocate") check_order(trace);
      own += trace.program() == std::string(name + "-plain") && trace.header.forked_from == 0 &&
             trace.warning.empty();
    }
    CHECK(own >= 1);
  }
}

TEST_CASE("a forked child has a trace of its own where its name is another, and none otherwise") {
  const std::string script =
      "$child = fork; @a = map { 'x' x ($_ % 3000) } 1 .. 50000; waitpid $child, 0 if $child";
  TemporaryFolder folder;
  CHECK(traced({"perl", "-e", script}, folder / "%p.%e").run().clean());
  const std::vector<std::string> names = files_of(folder);
  REQUIRE(names.size() == 2);
  int children = 0;
  for (const std::string& name : names) {
    const Trace trace = read_trace(folder / name);
    INFO(name << ": " << trace.warning);
    CHECK(trace.warning.empty());
    CHECK(name == std::to_string(trace.header.pid) + ".perl");
    CHECK(trace.calls.size() > 50000);
    if (trace.header.forked_from != 0) ++children;
  }
  CHECK(children == 1);

  TemporaryFolder one;
  CHECK(traced({"perl", "-e", script}, one / "t").run().clean());
  CHECK(files_of(one) == std::vector<std::string>{"t"});
  const Trace trace = read_trace(one / "t");
  CHECK(trace.warning.empty());
  CHECK(trace.header.forked_from == 0);
}

TEST_CASE("a program that is recorded begins with errno zero") {
  TemporaryFolder folder;
  CHECK(traced({program_path("errno_is_zero_at_start")}, folder / "t").run().clean());
  CHECK(read_trace(folder / "t").warning.empty());
}

TEST_CASE("programs are recorded in limits of address space and of data") {
  TemporaryFolder folder;
  const auto check = [&](int resource, rlim_t mebibytes) {
    const Outcome outcome = traced({program_path("work_under_limits")}, folder / "t")
                                .limit(resource, mebibytes << 20)
                                .run();
    INFO(mebibytes << " MiB: " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.err.empty());
    const Trace trace = read_trace(folder / "t");
    CHECK(trace.warning.empty());
    CHECK(trace.objects > 1000);
    check_order(trace);
  };
  for (const rlim_t mebibytes : {256, 2048, 65536}) check(RLIMIT_AS, mebibytes);
  for (const rlim_t mebibytes : {48, 128, 1024}) check(RLIMIT_DATA, mebibytes);
}
