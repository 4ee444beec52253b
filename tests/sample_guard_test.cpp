// SPDX-License-Identifier: MIT
// PKTMALLOC_SAMPLE_GUARD through programs; tests/heap_errors_test.cpp has its verdicts by kind of
// error.
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/demanding_programs.h"
#include "tests/program.h"
#include "tests/skip.h"

namespace {

Program guarded(const std::vector<std::string>& argv, const std::string& one_in = "1") {
  Program program(argv);
  program.preloaded().with("PKTMALLOC_SAMPLE_GUARD", one_in);
  return program;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("after the report a fault ends as the program wants") {
  struct Row {
    std::string kind;
    int status, signal;  // -1 and a signal, or a status and 0
    bool told;
    std::string said;
  };
  const Row rows[] = {
      {"none", -1, SIGSEGV, true, ""},
      {"simple", 3, 0, true, "handler\n"},
      {"informed", 3, 0, true, "handler\n"},
      {"once", -1, SIGSEGV, true, "handler\n"},
      {"jumps", 0, 0, true, "went on\n"},
      {"ignored", -1, SIGSEGV, false, "went on\n"},
      {"default_informed", -1, SIGSEGV, true, "went on\n"},
      {"own_pages", 3, 0, false, "handler\n"},
      {"vfork", 3, 0, true, "handler\n"},
      {"system_v", 3, 0, true, "handler\n"},
      {"calls_object", -1, SIGSEGV, false, ""},
      {"asked", 0, 0, false, "went on\n"},
      {"not_ours", 3, 0, false, "handler\n"},
      {"not_ours_unhandled", -1, SIGSEGV, false, ""},
      {"sent", 3, 0, false, "handler\n"},
      {"sent_unhandled", -1, SIGSEGV, false, ""},
      {"child", 0, 0, true, "went on\n"},
      {"thread", -1, SIGSEGV, true, ""},
  };
  for (const Row& row : rows) {
    const Outcome outcome = guarded({build_path("tests/bin/fault_handlers-plain"), row.kind}).run();
    INFO(row.kind << ": " << outcome);
    CHECK(outcome.status == row.status);
    CHECK(outcome.signal == row.signal);
    const std::string pointer = first_line(outcome.out);
    CHECK(outcome.out.substr(pointer.size() + 1) == row.said);
    if (!row.told) {
      CHECK(outcome.err.empty());
      continue;
    }
    const std::regex line(
        "pktmalloc: write past the end of " + pointer +
        ", an object of 100 bytes: byte \\d+, in overrun of fault_handlers-plain");
    CHECK(std::regex_match(first_line(outcome.err), line));
    CHECK(outcome.err.find("\n  found in:\n    #0  overrun") != std::string::npos);
    CHECK(outcome.err.find("\n  allocated in:\n    #0  main") != std::string::npos);
  }
}

TEST_CASE("a wrong free in a signal handler is told, then the program is aborted") {
  const Outcome outcome =
      guarded({build_path("tests/bin/fault_handlers-plain"), "frees_in_handler"}).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(first_line(outcome.err) == "pktmalloc: double free of " + first_line(outcome.out) +
                                       ", an object of 100 bytes, in frees_twice of "
                                       "fault_handlers-plain");
  CHECK(outcome.err.find("\n  first freed in:\n    #0  frees_twice") != std::string::npos);
}

TEST_CASE("a program that asks for reports still ends by what is no wrong use of an object") {
  for (const std::string kind : {"calls_object", "not_ours_unhandled"}) {
    const Outcome outcome = guarded({build_path("tests/bin/fault_handlers-plain"), kind})
                                .with("PKTMALLOC_CHECK", "report")
                                .run();
    INFO(kind << ": " << outcome);
    CHECK(outcome.signal == SIGSEGV);
  }
}

TEST_CASE("a program that asks for reports goes on") {
  for (const std::string kind : {"none", "frees_in_handler"}) {
    const Outcome outcome = guarded({build_path("tests/bin/fault_handlers-plain"), kind})
                                .with("PKTMALLOC_CHECK", "report")
                                .run();
    INFO(kind << ": " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.find("pktmalloc: ") == 0);
  }
}

TEST_CASE("programs behave with all objects guarded, or many, as without", "[.long]") {
  // Those that allocate most: one in 100.
  const std::set<std::string> busy = {
      "batches_are_as_single_calls", "exceptions_across_allocations",
      "fork_storm_from_many_threads", "inlined_objects_are_those_of_malloc",
      "signals_interrupt_allocations"};
  for (const std::string name : kDemandingPrograms) {
    const Outcome outcome = guarded({program_path(name)}, busy.count(name) > 0 ? "100" : "1").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("real programs behave under a sampled guard as without", "[.long]") {
  const std::vector<std::vector<std::string>> programs = {
      {"python3", "-c",
       "import json; print(len(json.dumps([{'a': str(i)} for i in range(50000)])))"},
      {"perl", "-e", "my %h; $h{$_ % 999} .= $_ for 1..100000; print length join ',', %h"},
      {"sqlite3", ":memory:",
       "create table t(a); with recursive n(i) as (select 1 union all select i+1 from n where "
       "i<50000) insert into t select hex(randomblob(8)) from n; select count(*) from t;"}};
  for (const auto& argv : programs) {
    const Outcome plain = Program(argv).with("PERL_HASH_SEED", "0").run();
    for (const std::string one_in : {"1", "50", "5000"}) {
      const Outcome outcome =
          guarded(argv, one_in).with("PYTHONMALLOC", "malloc").with("PERL_HASH_SEED", "0").run();
      INFO(argv[0] << " with one in " << one_in << ": " << outcome);
      CHECK(outcome.status == plain.status);
      CHECK(outcome.out.size() == plain.out.size());
      CHECK(outcome.err == plain.err);
    }
  }
}

TEST_CASE("a sample goes without what the unwinder cannot find, or not under its lock") {
  for (const std::string name :
       {"unwinder_allocates_under_its_lock", "calls_without_a_rule_to_unwind"}) {
    const std::vector<std::string> program = {program_path(name)};
    const Outcome outcome = guarded(program, "1").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    const Outcome profiled = Program(program)
                                 .preloaded()
                                 .with("PKTMALLOC_PROFILE", "/dev/null")
                                 .with("PKTMALLOC_PROFILE_RATE", "1")
                                 .run();
    INFO(profiled);
    CHECK(profiled.clean());
  }
}

TEST_CASE("what the guard does not understand or cannot do it says in one line") {
  const std::vector<std::string> hello = {program_path("hello")};
  const Outcome wrong = guarded(hello, "often").run();
  CHECK(wrong.status == 7);
  CHECK(
      wrong.err ==
      "pktmalloc: PKTMALLOC_SAMPLE_GUARD=often is not understood; accepted: 0 or a number of 1 to "
      "1000000000 such as 1000; using 0\n");
  const Outcome both = guarded(hello).with("PKTMALLOC_PROFILE", "/dev/null").run();
  CHECK(both.status == 7);
  CHECK(both.err == "pktmalloc: PKTMALLOC_SAMPLE_GUARD does nothing beside PKTMALLOC_PROFILE\n");
  const Outcome little = guarded(hello).limit(RLIMIT_AS, rlim_t{1} << 30).run();
  CHECK(little.status == 7);
  CHECK(little.err ==
        "pktmalloc: PKTMALLOC_SAMPLE_GUARD does nothing here: the system refused the address "
        "space\n");
  const Outcome checked = Program(hello)
                              .with("LD_PRELOAD", build_path("libpktmalloc-checked.so"))
                              .with("PKTMALLOC_SAMPLE_GUARD", "1")
                              .run();
  CHECK(checked.status == 7);
  CHECK(checked.err ==
        "pktmalloc: PKTMALLOC_SAMPLE_GUARD=1 does nothing here: it is for libpktmalloc.so\n");
}
