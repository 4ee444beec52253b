// SPDX-License-Identifier: MIT
// `pktmalloc run --leak-check`: what a program has lost is told when it exits, and nothing else
// changes for it.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

Outcome checked(std::vector<std::string> command, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {build_path("pktmalloc"), "run"});
  if (options.size() == 2) options.push_back("--leak-check");
  options.insert(options.end(), command.begin(), command.end());
  return Program(options).run();
}

const std::string kHolds = program_path("holds_until_it_ends");

}  // namespace

TEST_CASE("what destructors and exit handlers would lose is not lost, however a program exits") {
  for (const std::string way : {"return", "exit", "thread", "last", "vfork"}) {
    const Outcome outcome = checked({kHolds, way});
    INFO(way << ": " << outcome);
    CHECK(outcome.status == (way == "last" ? 0 : 3));
    CHECK(outcome.out == "said late");
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("what is lost is told on stderr, and the status says so") {
  for (const std::string way : {"return", "exit", "thread", "last", "vfork"}) {
    const Outcome outcome = checked({kHolds, way, "lose"});
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 23);
    CHECK(outcome.out == "said late");
    const std::vector<std::string> told = lines(outcome.err);
    REQUIRE(told.size() == 5);
    CHECK(told[0].starts_with("pktmalloc: holds_until_it_ends-plain, process "));
    CHECK(told[1] == "3 objects are lost, 336 B");
    CHECK(has(told[4], " 112  -, for instance at 0x"));
  }
}

TEST_CASE("what a program lost that has no /proc any more is told") {
  if (geteuid() != 0) skip("only root may change the root");
  TemporaryFolder folder;
  const Outcome outcome =
      checked({"perl", "-e", "chroot $ARGV[0] or die; exit 5", folder.path()}, {"--leak-check=7"});
  INFO(outcome);
  CHECK(!has(outcome.err, "nobody looked"));
  CHECK((outcome.status == 5 || outcome.status == 7));
}

TEST_CASE("it is told how many objects are guarded, at which nobody looks") {
  const Outcome outcome = checked({program_path("hello")}, {"--leak-check", "--sample-guard", "1"});
  INFO(outcome);
  CHECK(outcome.err.find(" more objects are guarded: nobody has looked at them\n") !=
        std::string::npos);
  CHECK(outcome.status == 7);
}

TEST_CASE("what is only perhaps lost is told, and does not change the status") {
  const Outcome outcome = checked({kHolds, "return", "perhaps"});
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(has(outcome.err, "\n1 object is lost, 2.0 KiB; 1 only perhaps\n"));
}

TEST_CASE("the block behind which no other lies is not lost where its end is known") {
  TemporaryFolder folder;
  const Outcome outcome =
      checked({kHolds, "return", "end"}, {"--leak-check", "--profile=" + folder / "p.heap"});
  INFO(outcome);
  CHECK(outcome.status == 3);
  CHECK(!has(outcome.err, "lost"));
}

TEST_CASE("libc's own functions that end a program run a leak check, too") {
  const Outcome outcome = checked({kHolds, "error", "lose"});
  INFO(outcome);
  CHECK(outcome.status == 23);
  CHECK(has(outcome.err, ": it ends so\n"));
  CHECK(has(outcome.err, "\n3 objects are lost, 336 B\n"));
}

TEST_CASE("all that is lost for good is lost at exit") {
  const Outcome outcome = checked({program_path("loses_known_objects")});
  INFO(outcome);
  CHECK(outcome.status == 23);
  CHECK(has(outcome.err, "\n41 objects are lost, 15.2 KiB; "));
}

TEST_CASE("linked programs and the library's twins have leak checks, too") {
  for (const std::string way : {"shared", "static"}) {
    const Outcome outcome = checked({program_path("holds_until_it_ends", way), "return", "lose"});
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 23);
    CHECK(has(outcome.err, "\n3 objects are lost, 336 B\n"));
  }
  for (const std::string twin : {"--hardened", "--checked"}) {
    const Outcome outcome = checked({kHolds, "return", "lose"}, {"--leak-check", twin});
    INFO(twin << ": " << outcome);
    CHECK(outcome.status == 23);
    CHECK(has(outcome.err, "\n3 objects are lost, "));
  }
}

TEST_CASE("the status of a program that loses something is the one that is asked for") {
  CHECK(checked({kHolds, "return", "lose"}, {"--leak-check=77"}).status == 77);
  const Outcome outcome = checked({kHolds, "return", "lose"}, {"--leak-check=0"});
  CHECK(outcome.status == 3);
  CHECK(has(outcome.err, "\n3 objects are lost, 336 B\n"));
}

TEST_CASE("each program that the command starts is checked, each with its own status") {
  const Outcome outcome = checked({"sh", "-c",
                                   kHolds + " return lose; echo \" $?\"; " + kHolds +
                                       " exit; echo \" $?\"; exec " + kHolds + " exit lose"});
  INFO(outcome);
  CHECK(outcome.out == "said late 23\nsaid late 3\nsaid late");
  CHECK(outcome.status == 23);
  CHECK(lines(outcome.err).size() == 10);
}

TEST_CASE("a child of fork that exits is checked, too") {
  const Outcome outcome = checked({kHolds, "fork", "lose"});
  INFO(outcome);
  CHECK(outcome.status == 23);
  CHECK(outcome.out == "said latesaid late");
  CHECK(lines(outcome.err).size() == 10);
  CHECK(checked({kHolds, "fork"}).err.empty());
}

TEST_CASE("a program that ends without a leak check is said to, and ends as it does") {
  for (const std::string way : {"_exit", "quick_exit"}) {
    const Outcome outcome = checked({kHolds, way, "lose"});
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 3);
    CHECK(lines(outcome.err).size() == 1);
    CHECK(has(outcome.err, " ended without exit handlers, or without the library: nobody looked"));
  }
  const Outcome outcome = checked({kHolds, "abort", "lose"});
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(lines(outcome.err).size() == 1);
  CHECK(has(outcome.err, " was ended by a signal: nobody looked for leaks"));
}

TEST_CASE("leaks whose types a file suppresses are counted only") {
  TemporaryFolder folder;
  const std::string program = program_path("loses_known_objects");
  const auto told = [&](const std::string& text) {
    folder.write("suppressions", text);
    return checked({program}, {"--leak-check", "--suppressions", folder / "suppressions"});
  };
  const Outcome some =
      told("# those\n\nleak:^Lost$\n  leak:R*g  \nleak:ead\nleak:^ost\nleak:Hidde$");
  INFO(some);
  CHECK(some.status == 23);
  CHECK(!has(some.err, "  Lost,"));
  CHECK(!has(some.err, "  Ring,"));
  CHECK(!has(some.err, "  Head,"));
  CHECK(has(some.err, "  Hidden,"));
  CHECK(has(some.err, "\n            24 more objects, 2.3 KiB, are suppressed\n"));
  const Outcome all = told("leak:*");
  INFO(all);
  CHECK(all.status == 0);
  CHECK(all.err.empty());
}

TEST_CASE("with a heap profile leaks are told by place, and a file may suppress them by it") {
  TemporaryFolder folder;
  const std::string profile = "--profile=" + folder / "p.heap";
  const Outcome outcome = checked({kHolds, "exit", "lose"}, {"--leak-check", profile});
  INFO(outcome);
  CHECK(outcome.status == 23);
  CHECK(has(outcome.err, " objects are lost, "));
  CHECK(has(outcome.err, "  lose() at holds_until_it_ends.cpp:"));
  CHECK(has(outcome.err, "  main at holds_until_it_ends.cpp:"));
  for (const std::string pattern : {"^lose()$", "holds_until_it_ends-plain"}) {
    folder.write("suppressions", "leak:" + pattern);
    const Outcome suppressed =
        checked({kHolds, "exit", "lose"},
                {"--leak-check", profile, "--suppressions", folder / "suppressions"});
    INFO(suppressed);
    CHECK(suppressed.status == 3);
    CHECK(!has(suppressed.err, "lost"));
  }
}

TEST_CASE("a leak check goes with reports of all kinds") {
  TemporaryFolder folder;
  const Outcome both =
      checked({kHolds, "exit", "lose"}, {"--leak-check", "--stats=" + folder / "stats.json"});
  INFO(both);
  CHECK(both.status == 23);
  CHECK(has(both.err, "\n3 objects are lost, 336 B\n"));
  CHECK(has(folder.read("stats.json"), "\"holds_until_it_ends-plain\""));
}

TEST_CASE("a leak check for which there are no descriptors is given up in one line") {
  for (const std::string way : {"return", "fork"}) {
    const Outcome outcome =
        checked({"sh", "-c", "ulimit -n 256; exec " + kHolds + " " + way + " lose"});
    INFO(way << ": " << outcome);
    CHECK(outcome.status == 23);
    const std::string command = build_path("pktmalloc") + " run --leak-check " + kHolds;
    const Outcome none =
        Program({"sh", "-c", "ulimit -n 5; exec " + command + " " + way + " lose"}).run();
    INFO(none);
    CHECK(none.status == 3);
    CHECK(has(none.out, "said late"));
    CHECK(none.err == "pktmalloc: leak check: nobody can ask any more: Too many open files\n");
  }
}

TEST_CASE("a leak check that cannot be is refused before anything starts") {
  TemporaryFolder folder;
  check_refused(checked({"true"}, {"--leak-check=256"}),
                "--leak-check=256 is not understood; accepted: a status of 0 to 255");
  check_refused(checked({"true"}, {"--leak-check=x"}), "--leak-check=x is not understood");
  check_refused(checked({"true"}, {"--leak-check", "--suppressions", folder.path()}),
                "it is a folder");
  check_refused(checked({"true"}, {"--leak-check", "--suppressions", folder / "none"}),
                "cannot read " + folder / "none");
  folder.write("bad", "# leaks\nrace:foo\n");
  check_refused(checked({"true"}, {"--leak-check", "--suppressions", folder / "bad"}),
                "bad, line 2: race:foo is not understood; lines are leak:pattern");
}
