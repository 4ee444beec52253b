// SPDX-License-Identifier: MIT
// pktmalloc tell: processes that were started without control open it when they are first told
// something, but for those that must not.
#include <catch2/catch.hpp>

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "tests/controlled.h"
#include "tests/diagnosis.h"
#include "tests/patience.h"
#include "tests/setuid.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// That asks for memory all the time, in two threads.
struct Working : Running {
  explicit Working(Running::Environment environment = {}, const std::string& way = "plain")
      : Running({program_path("is_read_from_outside", way), "works", "/dev/null", "2"},
                Waiting::with_library(std::move(environment), way)),
        id(line("ready ")) {}
  const std::string id;
};

constexpr const char* kNobodyCame = " does not listen: none of its threads came by for memory";

}  // namespace

TEST_CASE("a process that was not prepared obeys all orders") {
  for (const std::string& way : kWays) {
    TemporaryFolder folder;
    const Working program({}, way);
    const std::pair<Words, std::string> orders[] = {
        {{"trim"}, " bytes are given back\n"},
        {{"stats", folder / "s.json"}, "statistics are in " + folder / "s.json\n"},
        {{"profile", "start"}, "the heap profile begins\n"},
        {{"profile", folder / "p.heap"}, "samples are in " + folder / "p.heap\n"},
        {{"trace", "start", folder / "t"}, "calls are recorded in " + folder / "t\n"},
        {{"trace", "stop"}, "calls are in " + folder / "t\n"}};
    for (const auto& [order, answer] : orders) {
      Words words = {program.id};
      words.insert(words.end(), order.begin(), order.end());
      const Outcome outcome = tell(words).run();
      INFO(way << ": " << outcome);
      CHECK(outcome.status == 0);
      CHECK(has(outcome.out, answer));
      CHECK(outcome.err.empty());
    }
  }
}

TEST_CASE("the library's twins are called, too") {
  for (const std::string library : {"libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    Running program({program_path("is_read_from_outside"), "works", "/dev/null", "2"},
                    {{"LD_PRELOAD", build_path(library)}});
    const Outcome outcome = tell({program.line("ready "), "trim"}).run();
    INFO(library << ": " << outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("the thread that writes reports meanwhile obeys, too, once it is called") {
  TemporaryFolder folder;
  const Working program(
      {{"PKTMALLOC_STATS", folder / "s.json"}, {"PKTMALLOC_STATS_INTERVAL", "1h"}});
  const auto end = end_of_patience();
  Outcome outcome = tell({program.id, "stats"}).run();
  while (outcome.status != 0 && std::chrono::steady_clock::now() < end) {
    outcome = tell({program.id, "stats"}).run();
  }
  INFO(outcome);
  CHECK(outcome.out == "statistics are in " + folder / "s.json" + "\n");
}

TEST_CASE("a process that does not ask for memory is said not to listen") {
  const Waiting program({});
  check_refused(tell({program.id, "trim"}).run(), "process " + program.id + kNobodyCame);
}

TEST_CASE("a process that obeys nobody says so, and remains closed") {
  const Working program(Running::Environment{{"PKTMALLOC_CONTROL", "never"}});
  check_refused(
      tell({program.id, "trim"}).run(),
      "process " + program.id + " obeys nobody: it was started with PKTMALLOC_CONTROL=nev");
  CHECK(Diagnosis(doctor(program.id)).says("It obeys nobody"));
}

TEST_CASE("a process that filters its system calls is not called") {
  skip_without({"python3"});
  const char* const script = R"(
import ctypes, struct
libc = ctypes.CDLL(None)
code = struct.pack("HBBI", 0x6, 0, 0, 0x7fff0000)
filter = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(filter)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
print("ready", flush=True)
while True: list(range(1000))
)";
  Running program({"python3", "-c", script},
                  {{"LD_PRELOAD", library_path()}, {"PYTHONMALLOC", "malloc"}});
  program.line("ready");
  const std::string id = std::to_string(program.pid());
  check_refused(tell({id, "trim"}).run(), "process " + id + ": it filters system calls");
  CHECK(Diagnosis(doctor(id)).says("It cannot be told anything: it filters system calls"));
}

TEST_CASE("a process that is not dumpable opens for nobody, not even for root") {
  if (geteuid() != 0) skip("needs root");
  Running program({"perl", "-e",
                   "use POSIX; $| = 1; POSIX::setuid(65534); print qq(ready\\n); "
                   "while (1) { @a = map { 'x' x $_ } 1 .. 1000 }"},
                  {{"LD_PRELOAD", library_path()}});
  program.line("ready");
  check_refused(tell({std::to_string(program.pid()), "trim"}).run(), kNobodyCame);
}

TEST_CASE("processes of other users are not called") {
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv"});
  const Working program;
  const Outcome outcome = Program({"setpriv", "--reuid=65534", "--clear-groups",
                                   build_path("pktmalloc"), "tell", program.id, "trim"})
                              .run();
  check_refused(outcome, "process " + program.id + " belongs to another user");
}

TEST_CASE("what cannot be called is told in one line") {
  Running alone({"sleep", "1000"});
  check_refused(tell({std::to_string(alone.pid()), "trim"}).run(), "does not use pktmalloc");
}

TEST_CASE("the doctor says that a process will obey") {
  const Working program;
  CHECK(Diagnosis(doctor(program.id)).says("It will obey pktmalloc tell"));
  CHECK(tell({program.id, "trim"}).run().status == 0);
  CHECK(Diagnosis(doctor(program.id)).says("It obeys pktmalloc tell"));
}

TEST_CASE("programs with threads, forks and signals of their own bear calls", "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "signals_interrupt_allocations", "thread_churn_is_bounded", "storm_of_stacks",
        "process_ends_with_its_last_thread", "main_thread_ends_before_others"}) {
    const std::string script =
        program_path(name) +
        " & while kill -0 $! 2> /dev/null; do LD_PRELOAD= " + build_path("pktmalloc") +
        " tell $! trim > /dev/null 2>&1; done; wait $!";
    const Outcome outcome = Program({"bash", "-c", script}).preloaded().run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}
