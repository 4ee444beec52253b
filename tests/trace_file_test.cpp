// SPDX-License-Identifier: MIT
// The file of a trace: whose it is, how it ends, and what happens when it cannot be written.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/setuid.h"
#include "tests/temporary_folder.h"
#include "tools/command/replay/trace.h"

using pktmalloc::read_trace;
using pktmalloc::Trace;

namespace {

Program traced(std::vector<std::string> argv, const std::string& path) {
  return Program(std::move(argv)).preloaded().with("PKTMALLOC_TRACE", path);
}

}  // namespace

TEST_CASE(
    "programs that _exit or are killed leave all full buffers, and a reader says what is not") {
  for (const std::string end : {"os._exit(3)", "os.kill(os.getpid(), 9)"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({"/usr/bin/python3", "-c",
                                    "import os\nx = [bytes(1000) for i in range(100000)]\n" + end},
                                   folder / "t")
                                .run();
    INFO(outcome);
    CHECK(outcome.err.empty());
    const Trace trace = read_trace(folder / "t");
    CHECK(trace.warning.find("it has no end at byte ") != std::string::npos);
    CHECK(trace.warning.find("was killed, ended by _exit or is still running") !=
          std::string::npos);
    CHECK(trace.calls.size() > 90000);
  }
}

TEST_CASE("a file that takes no more ends the trace in one line, and the program goes on") {
  TemporaryFolder folder;
  const Outcome limited = traced({program_path("free_in_another_thread")}, folder / "t")
                              .limit(RLIMIT_FSIZE, 200000)
                              .run();
  INFO(limited);
  CHECK(limited.status == 0);
  CHECK(limited.err == "pktmalloc: the trace " + folder / "t" + " ends early: File too large\n");
  const Trace trace = read_trace(folder / "t");
  CHECK(trace.warning == folder / "t" + ": the trace ended before its program, which said why");
  CHECK(trace.calls.size() > 10000);
  const Outcome lowered = traced({"/bin/bash", "-c", "ulimit -f 0; exit 7"}, folder / "l").run();
  INFO(lowered);
  CHECK(lowered.status == 7);

  const Outcome nowhere = traced({program_path("hello")}, folder / "none/t").run();
  INFO(nowhere);
  CHECK(nowhere.status == 7);
  CHECK(nowhere.err ==
        "pktmalloc: cannot write the trace " + folder / "none/t" + ": No such file or directory\n");
  const Outcome full = traced({program_path("free_in_another_thread")}, "/dev/full").run();
  INFO(full);
  CHECK(full.status == 0);
  CHECK(full.err == "pktmalloc: the trace /dev/full ends early: No space left on device\n");
}

TEST_CASE("writes leave the signals alone that a program blocks") {
  const std::string program = program_path("blocked_signals_stay_as_they_are");
  const TemporaryFolder folder;
  for (const std::string option : {"PKTMALLOC_TRACE", "PKTMALLOC_STATS", "PKTMALLOC_PROFILE"}) {
    const Outcome outcome =
        Program({program, "pending"}).in(folder.path()).preloaded().with(option, "./file").run();
    INFO(option << ": " << outcome);
    CHECK(outcome.status == 0);
  }
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  // Its reader has left when the program writes.
  const Outcome left = Program({"sh", "-c",
                                "head -c 1 pipe > t & exec 3> pipe; LD_PRELOAD=" + library_path() +
                                    " PKTMALLOC_TRACE=./pipe " + program + " 3>&-"})
                           .in(folder.path())
                           .run();
  INFO(left);
  CHECK(left.status == 0);
  CHECK(left.err.find("ends early") != std::string::npos);
}

TEST_CASE("a trace goes through a pipe, and its reader may leave") {
  TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  // The pipe has its reader before the program begins.
  const std::string program = " & exec 3> pipe; LD_PRELOAD=" + library_path() +
                              " PKTMALLOC_TRACE=./pipe " + program_path("known_calls") + " 3>&-";
  const Outcome outcome =
      Program({"sh", "-c", "cat pipe > t" + program + "; exec 3>&-; wait"}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(read_trace(folder / "t").warning.empty());
  const Outcome left =
      Program({"sh", "-c", "head -c 10 pipe > t" + program}).in(folder.path()).run();
  INFO(left);
  CHECK(left.status == 0);
}

TEST_CASE("a program may close the trace's descriptor or put its own file there") {
  for (const std::string change :
       {"os.closerange(3, 5000)",
        "f = os.open('mine', os.O_CREAT | os.O_WRONLY)\nfor i in range(3, 1000): os.dup2(f, i)"}) {
    TemporaryFolder folder;
    const Outcome outcome = traced({"/usr/bin/python3", "-c",
                                    "import os\nx = [bytes(i) for i in range(20000)]\n" + change +
                                        "\nx = [bytes(i) for i in range(20000)]"},
                                   folder / "t")
                                .in(folder.path())
                                .run();
    INFO(outcome);
    CHECK(outcome.clean());
    CHECK(read_trace(folder / "t").warning.empty());
    CHECK(folder.read("mine").empty());
  }
}

TEST_CASE("the trace is whole where few descriptors may be and the program began without stderr") {
  TemporaryFolder folder;
  folder.write("says.py", R"(
import os
def say():
    for fd in 2, 3, 4:
        try: os.write(fd, b"an error")
        except OSError: pass
say()
own = os.open("mine", os.O_CREAT | os.O_WRONLY)
x = [bytes(i) for i in range(20000)]
say()
)");
  const Outcome outcome = Program({"sh", "-c",
                                   "LD_PRELOAD=" + library_path() +
                                       " PKTMALLOC_TRACE=./t exec /usr/bin/python3 says.py 2>&-"})
                              .in(folder.path())
                              .limit(RLIMIT_NOFILE, 64)
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Trace trace = read_trace(folder / "t");
  CHECK(trace.warning.empty());
  CHECK(trace.calls.size() > 10000);
  CHECK(folder.read("t").find("an error") == std::string::npos);
}

TEST_CASE("a file of that name is replaced, not emptied") {
  TemporaryFolder folder;
  folder.write("t", std::string(100000, 'x'));
  std::filesystem::create_hard_link(folder / "t", folder / "other");
  CHECK(traced({program_path("known_calls")}, folder / "t").run().clean());
  CHECK(read_trace(folder / "t").warning.empty());
  CHECK(folder.read("other") == std::string(100000, 'x'));
}

TEST_CASE("without memory for a thread's buffer the trace ends in one line, the program goes on") {
  TemporaryFolder folder;
  const Outcome outcome =
      traced({program_path("thread_starts_without_address_space")}, folder / "t").run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err ==
        "pktmalloc: the trace " + folder / "t" + " ends early: no memory for a thread's buffer\n");
  const Trace trace = read_trace(folder / "t");
  CHECK(trace.warning == folder / "t" + ": the trace ended before its program, which said why");
  CHECK(trace.objects > 0);
}

TEST_CASE("the checked library records nothing and says so in one line") {
  TemporaryFolder folder;
  const Outcome outcome = Program({program_path("hello")})
                              .with("LD_PRELOAD", build_path("libpktmalloc-checked.so"))
                              .with("PKTMALLOC_TRACE", folder / "t")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.err == "pktmalloc: PKTMALLOC_TRACE=" + folder / "t" +
                           " does nothing here: it is for libpktmalloc.so\n");
  CHECK(!std::filesystem::exists(folder / "t"));
}

TEST_CASE("a setuid program is not traced") {
  TemporaryFolder folder;
  const std::string copy = setuid_copy(program_path("hello", "static"), folder);
  REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
  Program({"setpriv", "--reuid=65534", "--clear-groups", copy})
      .with("PKTMALLOC_TRACE", folder / "t")
      .run();
  CHECK(!std::filesystem::exists(folder / "t"));
}
