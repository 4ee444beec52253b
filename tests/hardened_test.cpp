// SPDX-License-Identifier: MIT
// The hardened library: what it does with freed memory, and that correct programs do not notice.
// tests/heap_errors_test.cpp has the errors that it stops.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <set>
#include <string>
#include <vector>

#include "tests/demanding_programs.h"
#include "tests/twins.h"

namespace {

// What the options are that see or serve calls in ways of their own.
const std::vector<std::pair<std::string, std::string>> kObserved[] = {
    {{"PKTMALLOC_TRACE", "/dev/null"}},
    {{"PKTMALLOC_PROFILE", "/dev/null"}, {"PKTMALLOC_PROFILE_RATE", "1000"}},
    {{"PKTMALLOC_SAMPLE_GUARD", "97"}, {"PKTMALLOC_CLEAR", "256KiB"}, {"PKTMALLOC_CANARY", "1"}},
};

}  // namespace

TEST_CASE("freed memory is cleared, waits, and comes again in no order") {
  const Outcome outcome = hardened({program_path("freed_objects", "hardened")}).run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Outcome whole = hardened({program_path("freed_objects", "hardened"), "whole"})
                            .with("PKTMALLOC_CLEAR", "256KiB")
                            .run();
  INFO(whole);
  CHECK(whole.clean());
}

TEST_CASE("a write to any of the first 64 bytes of a freed object is told") {
  const Outcome outcome = hardened({program_path("freed_objects", "hardened"), "written"})
                              .with("PKTMALLOC_CHECK", "report")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  const std::string report = "pktmalloc: write after free to ";
  int found = 0;
  for (size_t at = 0; (at = outcome.err.find(report, at)) != std::string::npos; ++at) ++found;
  CHECK(outcome.out == std::to_string(found) + "\n");
}

TEST_CASE("a canary knows that the C++ runtime rounds up") {
  const Outcome outcome = hardened({program_path("aligned_new_after_its_handler")})
                              .with("PKTMALLOC_CANARY", "1")
                              .with("PKTMALLOC_LIMIT", "16MiB")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("canaries show every overflow, and nothing else") {
  const auto with_canaries = [](const std::string& what) {
    return hardened({program_path("canaries", "hardened"), what})
        .with("PKTMALLOC_CANARY", "1")
        .with("PKTMALLOC_CHECK", "report")
        .run();
  };
  const auto reports = [](const Outcome& outcome) {
    const std::string report = "pktmalloc: write past the end of ";
    size_t found = 0;
    for (size_t at = 0; (at = outcome.err.find(report, at)) != std::string::npos; ++at) ++found;
    return std::to_string(found) + "\n";
  };
  const Outcome whole = with_canaries("whole");
  INFO(whole);
  CHECK(whole.clean());
  Outcome outcome = with_canaries("resize");
  for (int way = 0; !outcome.out.empty(); ++way) {
    INFO(outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == reports(outcome));
    outcome = with_canaries(std::to_string(way));
  }
  CHECK(outcome.clean());
}

TEST_CASE("classes of the user's have room for canaries") {
  const std::vector<std::string> hello = {program_path("hello")};
  for (Program program : {hardened(hello).with("PKTMALLOC_CANARY", "1"), checked(hello)}) {
    const Outcome outcome = program.with("PKTMALLOC_CLASSES", "64,1536")
                                .with("PKTMALLOC_RESERVE", "64:1000,1536:100")
                                .run();
    INFO(outcome);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("a copy that runs over an object, or into a freed one, is stopped before it writes") {
  const auto outcome_of = [](const std::string& kind) {
    return hardened({program_path("faults", "checked"), kind}).with("PKTMALLOC_CANARY", "1").run();
  };
  const Outcome right = outcome_of("copy");
  INFO(right);
  CHECK(right.status == 7);
  CHECK(right.err.empty());
  for (const std::string kind :
       {"copy_past_end", "copy_from_before", "copy_after_free", "move_past_end"}) {
    const Outcome outcome = outcome_of(kind);
    INFO(kind << ": " << outcome);
    CHECK(outcome.signal == SIGABRT);
    const std::string line = outcome.err.substr(0, outcome.err.find('\n'));
    if (kind.find("past_end") != std::string::npos) {
      CHECK(line.find("an object of 100 bytes: byte 100") != std::string::npos);
    }
    CHECK(line.find(kind == "move_past_end" ? ", in moves of" : ", in copies of") !=
          std::string::npos);
  }
}

TEST_CASE("a program that asks for reports goes on, and each wrong call does nothing") {
  for (const std::string kind : {"double_free", "double_free_1000", "inner", "never_handed_out",
                                 "delete_too_large", "realloc_of_freed", "write_after_free"}) {
    const Outcome outcome =
        hardened({program_path("heap_error"), kind, "256"}).with("PKTMALLOC_CHECK", "report").run();
    INFO(kind << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.find("end\n") != std::string::npos);
    CHECK(outcome.err.find("pktmalloc: ") == 0);
    CHECK(outcome.err.find("found in:\n    #0  ") != std::string::npos);
  }
}

TEST_CASE("a free inside a block is told with the block") {
  const Outcome outcome = hardened({program_path("free_inside_a_block_is_told", "plain")}).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.err.find(", 70016 bytes inside an object of up to 1048576 bytes, in main of ") !=
        std::string::npos);
}

TEST_CASE("real programs run under the hardened library as without", "[.long]") {
  check_correct_commands(hardened, "PKTMALLOC_CLEAR", {"64", "256KiB"});
  check_correct_commands(hardened, "PKTMALLOC_CANARY", {"1"});
}

TEST_CASE("whole free pages of partly used slabs go back") {
  const Outcome outcome = hardened({program_path("pages_of_partly_used_slabs_go_back")})
                              .with("PKTMALLOC_AGE", "100ms")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("the programs of tests/programs run under the hardened library", "[.long]") {
  const std::set<std::string> exceptions = {
      "new_expressions_of_all_kinds",  // counts live objects; freed ones count while they wait
      "protected_memory_is_freed",     // free writes
  };
  check_programs(hardened, "PKTMALLOC_CLEAR", "64", exceptions);
}

TEST_CASE("demanding programs behave under the hardened library with other options, too",
          "[.long]") {
  for (const std::string name : kDemandingPrograms) {
    for (const auto& options : kObserved) {
      Program program = hardened({program_path(name)});
      for (const auto& [variable, value] : options) program.with(variable, value);
      const Outcome outcome = program.run();
      INFO(name << " with " << options[0].first << ": " << outcome);
      CHECK(outcome.clean());
    }
  }
}

TEST_CASE("the hardened library works under limits and in forked children") {
  for (const int resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const Outcome outcome =
        hardened({program_path("work_under_limits")}).limit(resource, 256 << 20).run();
    INFO(resource << ": " << outcome);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("the hardened library has the same exports and needs libc and nothing else") {
  check_interface("libpktmalloc-hardened.so");
}

TEST_CASE("options of another library are named with it") {
  CHECK(Program({program_path("hello")}).preloaded().with("PKTMALLOC_CLEAR", "4KiB").run().err ==
        "pktmalloc: PKTMALLOC_CLEAR=4KiB does nothing here: it is for libpktmalloc-hardened.so\n");
  CHECK(hardened({program_path("hello")}).with("PKTMALLOC_GUARD", "64").run().err ==
        "pktmalloc: PKTMALLOC_GUARD=64 does nothing here: it is for libpktmalloc-checked.so\n");
  CHECK(hardened({program_path("hello")}).with("PKTMALLOC_CLEAR", "16").run().err ==
        "pktmalloc: PKTMALLOC_CLEAR=16 is not understood; accepted: a size of 64 to 256KiB such as "
        "4KiB; using 64\n");
}
