// SPDX-License-Identifier: MIT
// Statistics while the program runs: by interval, in children; how files take their place; what the
// options for `pktmalloc run` do. By order: control_test.cpp.
//
// Programs here wait for the file that they expect, so nothing depends on how fast the machine is.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "tests/program.h"
#include "tests/temporary_folder.h"

namespace {

// A shell waits for a file to be there.
std::string until(const std::string& file) {
  return "until [ -e " + file + " ]; do sleep 0.02; done; ";
}

Program shell(const std::string& script, const TemporaryFolder& folder) {
  return Program({"sh", "-c", script}).preloaded().in(folder.path());
}

bool whole_json(const std::string& text) {
  return text.size() > 1000 && text.front() == '{' && text.compare(text.size() - 2, 2, "}\n") == 0;
}

size_t files_ending(const TemporaryFolder& folder, const std::string& end) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("PKTMALLOC_STATS_INTERVAL writes a numbered series while the program runs") {
  TemporaryFolder folder;
  const Outcome outcome = shell(until("$$.00003.json") + "exit 3", folder)
                              .with("PKTMALLOC_STATS", "%p.%n.json")
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.empty());
  CHECK(files_ending(folder, ".00003.json") == 1);
  std::set<std::pair<std::string, double>> times;  // by process: the shell starts others
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    const std::string text = folder.read(name);
    CHECK(whole_json(text));
    const double time = std::stod(text.substr(text.find("\"time\": ") + 8));
    CHECK(times.emplace(name.substr(0, name.find('.')), time).second);
  }
}

TEST_CASE("reports by order and by interval are one series, with the one at exit") {
  TemporaryFolder folder;
  const std::string order = "LD_PRELOAD= " + build_path("pktmalloc") + " tell $$ stats > told; ";
  const Outcome outcome =
      Program({"bash", "-c", order + order + until("$$.00005.json") + order + "cat told; exit 3"})
          .preloaded()
          .in(folder.path())
          .with("PKTMALLOC_STATS", "%p.%n.json")
          .with("PKTMALLOC_STATS_INTERVAL", "100ms")
          .with("PKTMALLOC_CONTROL", "1")
          .run();
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(outcome.err.empty());
  CHECK(files_ending(folder, ".00006.json") >= 1);
  const std::string last = outcome.out.substr(outcome.out.rfind('/') + 1);
  CHECK(whole_json(folder.read(last.substr(0, last.find('\n')))));
}

TEST_CASE("a reader finds a whole report at any time") {
  TemporaryFolder folder;
  std::atomic<bool> done = false;
  Outcome outcome;
  std::thread writer([&] {
    outcome = Program({program_path("tells_itself"), "often", "stats"})
                  .preloaded()
                  .in(folder.path())
                  .with("PKTMALLOC_STATS", "s.json")
                  .with("PKTMALLOC_CONTROL", "1")
                  .run();
    done = true;
  });
  size_t torn = 0;
  size_t whole = 0;
  for (bool last = false; !last;) {
    last = done;
    if (!std::filesystem::exists(folder / "s.json")) continue;
    ++(whole_json(folder.read("s.json")) ? whole : torn);
  }
  writer.join();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(torn == 0);
  CHECK(whole > 0);
  CHECK(files_ending(folder, ".tmp") == 0);
}

TEST_CASE("the child of a fork reports by itself") {
  TemporaryFolder folder;
  const std::string script =
      "$child = fork; push @a, 'x' x ($n = ($n + 97) % 9000) and select undef, undef, undef, .01 "
      "until -e \"$$.00002.json\"; waitpid $child, 0 if $child; exit($? >> 8)";
  const Outcome outcome = Program({"perl", "-e", script})
                              .preloaded()
                              .in(folder.path())
                              .with("PKTMALLOC_STATS", "%p.%n.json")
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(files_ending(folder, ".00002.json") == 2);
}

TEST_CASE("programs with threads, forks and signals of their own end as without a reporter",
          "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "signals_interrupt_allocations", "detached_threads_work_while_main_exits",
        "vfork_and_exec_leave_the_parent_intact", "thread_churn_is_bounded",
        "process_ends_with_its_last_thread"}) {
    TemporaryFolder folder;
    const Outcome outcome = Program({program_path(name)})
                                .preloaded()
                                .with("PKTMALLOC_STATS", folder / "%p.prom")
                                .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                                .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("an interval without anything to report is told in one line") {
  const Outcome outcome =
      Program({program_path("hello")}).preloaded().with("PKTMALLOC_STATS_INTERVAL", "1s").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.err ==
        "pktmalloc: PKTMALLOC_STATS_INTERVAL does nothing without PKTMALLOC_STATS, "
        "PKTMALLOC_PROFILE or PKTMALLOC_SIZES\n");
}

TEST_CASE("a report that cannot be written leaves the old one, and no signal ends the program") {
  TemporaryFolder folder;
  folder.write("s.json", "old");
  const Outcome limited = Program({program_path("hello")})
                              .preloaded()
                              .with("PKTMALLOC_STATS", folder / "s.json")
                              .limit(RLIMIT_FSIZE, 100)
                              .run();
  INFO(limited);
  CHECK(limited.status == 7);
  CHECK(limited.err.find("pktmalloc: cannot write statistics to ") == 0);
  CHECK(folder.read("s.json") == "old");
  CHECK(files_ending(folder, ".tmp") == 0);
  // stderr is a pipe that nobody reads any more.
  const Outcome unread =
      Program({"bash", "-c",
               "PKTMALLOC_STATS=1 " + program_path("hello") + " 2> >(exec <&-; sleep 1); exit $?"})
          .preloaded()
          .run();
  INFO(unread);
  CHECK(unread.status == 7);
}

TEST_CASE("a series that cannot be written is told once, and at the end") {
  const Outcome outcome = Program({"sleep", "1"})
                              .preloaded()
                              .with("PKTMALLOC_STATS", "/nowhere/a.json")
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.err.ends_with(
      "cannot write statistics to /nowhere/a.json: No such file or directory\n"));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') <= 2);
}

TEST_CASE("PKTMALLOC_TELL: that process says where its statistics are, and what reads them") {
  TemporaryFolder folder;
  // ls closes its stderr before libraries end.
  const Outcome outcome = shell("PKTMALLOC_TELL=$$ PKTMALLOC_STATS=s.json exec ls", folder).run();
  INFO(outcome);
  CHECK(outcome.err == "pktmalloc: statistics are in " + folder / "s.json" +
                           "; read them with: pktmalloc report " + folder / "s.json" + "\n");
  const Outcome other = shell("PKTMALLOC_TELL=1 PKTMALLOC_STATS=s.json exec ls", folder).run();
  CHECK(other.err.empty());
}

TEST_CASE("the program's name is in every report as it is, without line ends") {
  const std::string umlaut = "gr\u00f6\u00dfe";
  const struct {
    std::string name, text, json;
  } rows[] = {{umlaut, umlaut, umlaut},
              {"two\nlines", "two?lines", "two?lines"},
              {"latin\xf6", "latin\xf6", "latin\\u00f6"}};
  for (const auto& row : rows) {
    TemporaryFolder folder;
    std::filesystem::copy("/bin/true", folder / row.name);
    const Program program = Program({folder / row.name}).preloaded().in(folder.path());
    const Outcome text = Program(program).with("PKTMALLOC_STATS", "1").run();
    INFO(text);
    CHECK(text.err.find(" " + row.text + ",") != std::string::npos);
    CHECK(Program(program)
              .with("PKTMALLOC_STATS", "s.json")
              .with("PKTMALLOC_PROFILE", "p.heap")
              .run()
              .clean());
    CHECK(folder.read("s.json").find("\"program\": \"" + row.json + "\"") != std::string::npos);
    CHECK(Program({build_path("pktmalloc"), "profile", folder / "p.heap"}).run().status == 0);
  }
}

TEST_CASE("a child without fork handlers exits, although the reporter wrote when it was made") {
  TemporaryFolder folder;
  const Outcome outcome = Program({program_path("children_of_clone_exit")})
                              .preloaded()
                              .in(folder.path())
                              .with("PKTMALLOC_STATS", "s.json")
                              .with("PKTMALLOC_STATS_INTERVAL", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("statistics on stderr are there, however few descriptors may be") {
  // ls closes its stderr before libraries end.
  for (const rlim_t descriptors : {64, 500, 1024}) {
    TemporaryFolder folder;
    const Outcome outcome = Program({"ls"})
                                .preloaded()
                                .in(folder.path())
                                .with("PKTMALLOC_STATS", "1")
                                .limit(RLIMIT_NOFILE, descriptors)
                                .run();
    INFO(descriptors << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("resident") != std::string::npos);
  }
}

TEST_CASE("a program ends although nobody empties its full stderr", "[.long]") {
  const std::string script = R"(
import fcntl, os, subprocess, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True: os.write(writer, b"x" * 4096)
except BlockingIOError: pass
os.set_blocking(writer, True)  # of the same open pipe, for the programs
options = [{"PKTMALLOC_STATS": "1"}, {"PKTMALLOC_UNKNOWN": "1"}]
programs = [subprocess.Popen([sys.argv[1]], env={**o, "LD_PRELOAD": sys.argv[2]}, stderr=writer)
            for o in options]
ends = []
for program, option in zip(programs, options):
    try: ends.append(program.wait(120))
    except subprocess.TimeoutExpired: ends.append(f"{option} hangs")
    program.kill()
print(*ends, sep="\n")  # behind what both wrote
)";
  const Outcome outcome =
      Program({"python3", "-c", script, program_path("hello"), library_path()}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "hello\nhello\n7\n7\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("PKTMALLOC_CHILDREN=0: programs started by this one run without the library") {
  const std::string library = library_path();
  for (const std::string& preload : {library, library + ":libm.so.6", "libm.so.6 " + library,
                                     "libm.so.6:" + library + " libdl.so.2"}) {
    const Outcome outcome = Program({"bash", "-c", "env; echo $LD_PRELOAD"})
                                .with("LD_PRELOAD", preload)
                                .with("PKTMALLOC_CHILDREN", "0")
                                .with("PKTMALLOC_AGE", "2s")
                                .run();
    INFO(preload << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("libpktmalloc") == std::string::npos);
    CHECK(outcome.out.find("PKTMALLOC") == std::string::npos);
    const bool others = preload != library;
    CHECK((outcome.out.find("LD_PRELOAD=libm.so.6") != std::string::npos) == others);
    const bool two = preload.find("libdl") != std::string::npos;
    CHECK((outcome.out.find("libm.so.6:libdl.so.2\n") != std::string::npos) == two);
  }
}

TEST_CASE(
    "exit in a handler that interrupts the library ends the program, with or without report") {
  const std::string left_out = "pktmalloc: no report: exit() was called amid malloc or free\n";
  const std::pair<std::string, std::string> cases[] = {{"libpktmalloc.so", "STATS"},
                                                       {"libpktmalloc-checked.so", "STATS"},
                                                       {"libpktmalloc-hardened.so", "STATS"},
                                                       {"libpktmalloc.so", "SIZES"},
                                                       {"libpktmalloc.so", "PROFILE"}};
  for (const auto& [library, option] : cases) {
    TemporaryFolder folder;
    const Outcome outcome = Program({program_path("exit_in_a_signal_handler")})
                                .with("LD_PRELOAD", build_path(library))
                                .with("PKTMALLOC_" + option, folder / "%p.json")
                                .with("PKTMALLOC_PROFILE_RATE", "1")
                                .run();
    INFO(library << ", " << option << ": " << outcome);
    CHECK(outcome.status == 0);
    const size_t lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
    CHECK(outcome.err.size() == lines * left_out.size());
    // Each of the children, and the program itself.
    CHECK(files_ending(folder, ".json") + lines == 101);
    CHECK(files_ending(folder, ".tmp") == 0);
    if (option == "PROFILE") CHECK(lines > 0);
  }
}
