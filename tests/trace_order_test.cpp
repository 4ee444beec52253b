// SPDX-License-Identifier: MIT
// Traces that begin and end by order, while the program runs (pktmalloc tell PID trace start).
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/controlled.h"
#include "tests/program.h"
#include "tests/temporary_folder.h"
#include "tools/command/replay/trace.h"

using pktmalloc::Call;
using pktmalloc::CallKind;
using pktmalloc::read_trace;

namespace {

using Counts = std::map<uint64_t, int>;  // of calls, by the object's size

struct Calls {
  Counts allocated, released;
};

// Of objects above 10,000 bytes.
Calls calls_in(const std::string& path) {
  const pktmalloc::Trace trace = read_trace(path);
  std::vector<uint64_t> sizes(trace.objects);
  Calls calls;
  for (const Call& call : trace.calls) {
    if (call.kind != CallKind::kRelease) sizes[call.object] = call.bytes;
    if (sizes[call.object] <= 10000) continue;
    ++(call.kind == CallKind::kRelease ? calls.released : calls.allocated)[sizes[call.object]];
  }
  return calls;
}

// Its mapped, writable memory.
uint64_t data_kib(const std::string& id) {
  std::ifstream status("/proc/" + id + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmData:", 0) == 0) return std::stoull(line.substr(7));
  }
  return 0;
}

}  // namespace

TEST_CASE(
    "a trace begins and ends by order, for threads that are there, and a second one may follow") {
  for (const std::string& way : kWays) {
    for (const std::string ending : {"", ".zst"}) {
      TemporaryFolder folder;
      const std::string first = folder / "first" + ending, second = folder / "second" + ending;
      Program program({program_path("traced_while_it_runs", way), first, second});
      if (way == "plain") program.preloaded();
      const Outcome outcome = program.with("PKTMALLOC_CONTROL", "1").run();
      INFO(way << ending << ": " << outcome);
      CHECK(outcome.clean());
      const Calls one = calls_in(first), two = calls_in(second);
      CHECK(one.allocated == Counts{{10002, 100}, {10003, 100}});
      CHECK(one.released.empty());
      CHECK(two.allocated == Counts{{10005, 100}, {10006, 100}});
      CHECK(two.released == Counts{{10005, 100}});
    }
  }
}

TEST_CASE("a trace that cannot begin or end says why") {
  TemporaryFolder folder;
  const Waiting program(controlled());
  const auto says = [](const std::string& id, const Words& words) {
    Words order = {id, "trace"};
    order.insert(order.end(), words.begin(), words.end());
    return tell(order).run();
  };
  const std::string path = folder / "calls";
  check_refused(says(program.id, {"stop"}), "the trace is not under way");
  check_refused(says(program.id, {"start"}), "the trace needs a file");
  check_refused(says(program.id, {"start", "/dev/null"}), "the trace needs a regular file");
  check_refused(says(program.id, {"start", folder / "none" + "/calls"}),
                "the trace cannot be written");
  CHECK(says(program.id, {"start", path}).out == "calls are recorded in " + path + "\n");
  check_refused(says(program.id, {"start", path}), "the trace is under way already");
  CHECK(says(program.id, {"stop"}).out == "calls are in " + path + "\n");
  check_refused(says(program.id, {"stop"}), "the trace is not under way");
  CHECK(read_trace(path).calls.empty());
  const Waiting traced(controlled({{"PKTMALLOC_TRACE", folder / "all"}}));
  check_refused(says(traced.id, {"start", path}), "the trace is that of PKTMALLOC_TRACE");
  check_refused(says(traced.id, {"stop"}), "the trace is that of PKTMALLOC_TRACE");
}

TEST_CASE("each trace by order uses the memory of the one before") {
  TemporaryFolder folder;
  const Waiting program(controlled());
  const auto trace_once = [&](int i) {
    const std::string path = folder / std::to_string(i) + ".zst";
    CHECK(tell({program.id, "trace", "start", path}).run().status == 0);
    CHECK(tell({program.id, "trace", "stop"}).run().status == 0);
  };
  trace_once(0);
  const uint64_t before = data_kib(program.id);
  for (int i = 1; i <= 10; ++i) trace_once(i);
  CHECK(data_kib(program.id) < before + 100);
}

// One process in forty was taken for the child of a fork when its first trace began.
TEST_CASE("a process's first trace begins while threads of it end", "[.long]") {
  for (int i = 0; i < 100; ++i) {
    TemporaryFolder folder;
    const std::string path = folder / "calls";
    const Running program({program_path("thread_churn_is_bounded"), "1000000000"},
                          Waiting::with_library(controlled(), "plain"));
    const std::string id = std::to_string(program.pid());
    while (tell({id, "trim"}).run().status != 0) {  // it is there, and listens
    }
    const Outcome begun = tell({id, "trace", "start", path}).run();
    const Outcome ended = tell({id, "trace", "stop"}).run();
    INFO(begun << ended);
    CHECK(begun.status == 0);
    CHECK(ended.status == 0);
    CHECK_NOTHROW(read_trace(path));
  }
}

TEST_CASE("programs work while traces of them begin and end again and again", "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "free_in_another_thread", "thread_churn_is_bounded", "process_ends_with_its_last_thread"}) {
    TemporaryFolder folder;
    const std::string tells = "LD_PRELOAD= " + build_path("pktmalloc") + " tell $! trace ";
    const std::string script =
        program_path(name) + " & for i in $(seq 100000); do kill -0 $! || break; { " + tells +
        "start $PWD/$((i % 3)); " + tells + "stop; } > /dev/null; done 2> /dev/null; wait $!";
    const Outcome outcome = Program({"bash", "-c", script})
                                .preloaded()
                                .in(folder.path())
                                .with("PKTMALLOC_CONTROL", "1")
                                .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.empty());
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      INFO(file.path());
      CHECK_NOTHROW(read_trace(file.path()));
    }
  }
}
