// SPDX-License-Identifier: MIT
// Programs are none the worse for a heap profile: of every allocation, under storms of signals and
// forks, with memory refused.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/demanding_programs.h"
#include "tests/heap_profile.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

TEST_CASE("programs behave under a profile of every allocation as without") {
  for (const std::string name : kDemandingPrograms) {
    for (const std::string stacks : {"unwind", "frame_pointers"}) {
      const Outcome outcome = profiled({program_path(name)}, "/dev/null")
                                  .with("PKTMALLOC_PROFILE_STACKS", stacks)
                                  .run();
      INFO(name << " by " << stacks << ": " << outcome);
      CHECK(outcome.clean());
    }
  }
}

TEST_CASE("real programs behave under a profile as without") {
  const std::vector<std::vector<std::string>> programs = {
      {"python3", "-c",
       "import json; print(len(json.dumps([{'a': str(i)} for i in range(50000)])))"},
      {"sqlite3", ":memory:",
       "create table t(a); with recursive n(i) as (select 1 union all select i+1 from n where "
       "i<50000) insert into t select hex(randomblob(8)) from n; select count(*) from t;"},
      {"redis-server", "--version"}};
  TemporaryFolder folder;
  for (const auto& argv : programs) {
    const Outcome plain = Program(argv).run();
    for (const std::string rate : {"1", "64KiB"}) {
      const Outcome outcome = profiled(argv, folder / "heap", rate).run();
      INFO(argv[0] << " at " << rate << ": " << outcome);
      CHECK(outcome.status == plain.status);
      CHECK(outcome.out == plain.out);
      CHECK(outcome.err == plain.err);
      CHECK(command({folder / "heap"}).status == 0);
    }
  }
}

TEST_CASE("a program that limits its own addresses has them under a profile as well") {
  TemporaryFolder folder;
  const std::string script =
      "import resource, sys\n"
      "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
      "print(len([bytearray(1000000) for i in range(100)]))\n"
      "sys.exit(4)";
  const Outcome outcome = profiled({"python3", "-c", script}, folder / "heap", "512KiB").run();
  INFO(outcome);
  CHECK(outcome.status == 4);
  CHECK(outcome.out == "100\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("redis is profiled while it works") {
  skip_without({"redis-server", "redis-cli"});
  TemporaryFolder folder;
  const std::string script =
      "redis-server --port 0 --unixsocket s --save '' > log & "
      "until redis-cli -s s ping > pong 2> /dev/null; do sleep 0.05; done; "
      "redis-cli -s s eval \"for i=1,30000 do redis.call('set', 'k'..i, string.rep('v', 200)) "
      "end\" "
      "0 > answer; LD_PRELOAD= " +
      build_path("pktmalloc") +
      " tell $! profile > told; "
      "redis-cli -s s shutdown nosave; wait $!";
  const Outcome outcome = profiled({"bash", "-c", script}, "%e.%n.heap", "64KiB")
                              .in(folder.path())
                              .with("PKTMALLOC_CONTROL", "1")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  for (const std::string number : {"00001", "00002"}) {
    const std::string file = folder / ("redis-server." + number + ".heap");
    // 30,000 values of 200 bytes and their keys.
    const double bytes = bytes_of(file, {"main"})["main"];
    INFO(bytes);
    CHECK(bytes > 6e6);
    CHECK(bytes < 20e6);
  }
}

TEST_CASE("a fork's child goes on with its parent's profile in a file of its own") {
  TemporaryFolder folder;
  const Outcome outcome = profiled({"bash", "-c", "( echo $BASHPID; : )& wait; echo $$"}, "%p.heap")
                              .in(folder.path())
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  std::istringstream pids(outcome.out);
  unsigned files = 0;
  for (std::string pid; pids >> pid; ++files) {
    const Outcome text = command({folder / (pid + ".heap")});
    INFO(text);
    CHECK(text.out.find("bash, process " + pid + ": ") == 0);
    CHECK(text.out.find("main (bash)") != std::string::npos);
  }
  CHECK(files == 2);
}

TEST_CASE("where memory is refused the program goes on") {
  for (const rlim_t mib : {256, 512, 1024, 4096}) {
    const Outcome outcome = profiled({program_path("leaks_known_objects")}, "/dev/null")
                                .limit(RLIMIT_AS, mib << 20)
                                .run();
    INFO(mib << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') <= 1);
  }
}

TEST_CASE("the checked library says that it makes no profile") {
  TemporaryFolder folder;
  const Outcome outcome = Program({program_path("hello")})
                              .with("LD_PRELOAD", build_path("libpktmalloc-checked.so"))
                              .with("PKTMALLOC_PROFILE", folder / "heap")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.err == "pktmalloc: PKTMALLOC_PROFILE does nothing in libpktmalloc-checked.so\n");
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("memory goes back under a profile at the default rate") {
  for (const std::string name : {"trim_returns_memory", "malloc_trim_tells_whether_it_gave_back",
                                 "thread_churn_is_bounded", "memory_goes_back_under_light_work"}) {
    const Outcome outcome = profiled({program_path(name)}, "/dev/null", "512KiB").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}
