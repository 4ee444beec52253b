// SPDX-License-Identifier: MIT
// The checked library: correct programs, of which nothing may be said, and what it takes and needs.
#include <catch2/catch.hpp>

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include <set>
#include <string>

#include "tests/skip.h"
#include "tests/twins.h"

TEST_CASE("stacks are found while the loader's list of modules is locked") {
  const Outcome outcome = checked({program_path("loader_callbacks", "checked")}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("signal handlers that allocate may interrupt the checks") {
  const Outcome outcome = checked({program_path("signals_interrupt_checks", "checked")})
                              .with("PKTMALLOC_GUARD", "10000")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("a library preloaded beside ours may allocate before our heap starts, and in its clock") {
  const std::string beside = build_path("tests/plugins/early_clock.so");
  for (const std::string kind : {"", "-hardened", "-checked"}) {
    const std::string ours = build_path("libpktmalloc" + kind + ".so");
    for (const std::string& both : {ours + ":" + beside, beside + ":" + ours}) {
      const Outcome outcome = Program({program_path("hello")}).with("LD_PRELOAD", both).run();
      INFO(both << ": " << outcome);
      CHECK(outcome.out == "hello\n");
      CHECK(outcome.status == 7);
      CHECK(outcome.err.empty());
      const Outcome busy = Program({program_path("producers_and_consumers_stay_bounded")})
                               .with("LD_PRELOAD", both)
                               .run();
      INFO(both << ": " << busy);
      CHECK(busy.clean());
    }
  }
}

TEST_CASE("delete[] frees what operator new[] of the C++ runtime had from our operator new") {
  const Outcome outcome = checked({program_path("new_of_the_runtime_calls_ours")})
                              .with("PKTMALLOC_LIMIT", "16MiB")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("objects of no bytes trap without any option") {
  for (const std::string name : {"empty_write", "empty_array_read"}) {
    const Outcome outcome = checked({program_path("faults", "checked"), name}).run();
    INFO(outcome);
    CHECK(outcome.signal == SIGABRT);
    CHECK(outcome.err.find(" past the end of ") != std::string::npos);
  }
}

TEST_CASE("memory is watched anew whatever its former object left there") {
  const std::pair<std::string, std::string> ways[] = {{"PKTMALLOC_QUARANTINE", "0"},
                                                      {"PKTMALLOC_QUARANTINE", "1MiB"},
                                                      {"PKTMALLOC_QUARANTINE_RATE", "1"}};
  for (const auto& [name, value] : ways) {
    const Outcome outcome =
        checked({program_path("memory_again", "checked")}).with(name, value).run();
    INFO(name << "=" << value << ": " << outcome);
    CHECK(outcome.clean());
  }
  const Outcome late = checked({program_path("memory_again", "checked"), "late"}).run();
  INFO("late: " << late);
  CHECK(late.clean());
}

TEST_CASE("of large freed objects little memory stays") {
  const Outcome outcome =
      checked({program_path("large_objects_leave_little_memory", "checked")}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("large objects that come and go often are protected as far as a tenth of the time goes") {
  const std::string slow = build_path("tests/plugins/slow_protection.so");
  const Outcome outcome =
      Program({program_path("large_objects_come_and_go", "checked")})
          .with("LD_PRELOAD", slow + " " + build_path("libpktmalloc-checked.so"))
          .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  int times = 0;
  REQUIRE(sscanf(outcome.out.c_str(), "protected %d", &times) == 1);
  CHECK(times > 0);
  CHECK(times < 500);
}

TEST_CASE("no signal is held back while a large object comes or goes") {
  const auto refuse_masks = [](const std::string& program) {
    return Program({program_path("system_calls"), "refuse", std::to_string(SYS_rt_sigprocmask), "1",
                    "1000000", program})
        .with("PRELOAD", build_path("libpktmalloc-checked.so"))
        .run();
  };
  if (refuse_masks(program_path("hello")).out.find("refused ") == std::string::npos)
    skip("this system has no seccomp filters with a listener");
  const Outcome outcome = refuse_masks(program_path("large_objects_come_and_go", "checked"));
  INFO(outcome);
  CHECK(outcome.status == 0);
  unsigned calls = ~0U;
  REQUIRE(sscanf(outcome.out.c_str(), "refused %u", &calls) == 1);
  CHECK(calls < 100);  // for the first stacks, but not for each of 5000 objects
}

TEST_CASE("an object that another thread frees while realloc looks at it stays free") {
  const Outcome outcome = checked({program_path("freed_during_realloc", "checked")})
                              .with("PKTMALLOC_CHECK", "report")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.find("realloc of ") != std::string::npos);
}

TEST_CASE("what the checks may need is not taken from the system ahead") {
  const Outcome outcome = checked({"grep", "^VmData:", "/proc/self/status"}).run();
  INFO(outcome);
  CHECK(strtoull(outcome.out.c_str() + sizeof "VmData:", nullptr, 10) < 16 << 10);  // KiB
  for (const std::string name : {"hello", "work_under_limits"}) {
    const Outcome limited = checked({program_path(name)})
                                .with("PKTMALLOC_QUARANTINE", "1MiB")
                                .limit(RLIMIT_DATA, name == "hello" ? 12 << 20 : 48 << 20)
                                .run();
    INFO(name << ": " << limited);
    CHECK(limited.out == (name == "hello" ? "hello\n" : "done\n"));
  }
}

TEST_CASE("what waits in the quarantine serves again, at any limit") {
  for (const std::string name : {"large_objects_come_and_go_at_a_limit_of_data",
                                 "freed_memory_at_a_limit_serves_a_larger_request"}) {
    const bool by_option = name.find("_of_data") == std::string::npos;
    const Outcome outcome =
        checked({program_path(name)}).with("PKTMALLOC_LIMIT", by_option ? "100MiB" : "0").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("addresses kept for stacks are given back when the program lowers its limit of them") {
  const Outcome outcome = checked({program_path("lower_limit_of_addresses", "checked")}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("correct programs run silently and with the same output", "[.long]") {
  check_correct_commands(checked, "PKTMALLOC_GUARD", {"0", "64", "2048"});
}

TEST_CASE("the programs of tests/programs run under the checked library", "[.long]") {
  // What the checks must change: objects are larger by their dress, and freed ones wait.
  const std::set<std::string> exceptions = {
      "exec_keeps_the_environment",                // counts bytes of a class
      "malloc_info_writes_xml",                    // the same
      "pooled_sizes",                              // the same
      "statistics_are_exact",                      // the same
      "memory_refused_then_granted",               // freed objects count as live
      "peaks_of_other_sizes_do_not_add_up",        // and wait in the quarantine
      "threads_that_skip_their_end_leave_little",  // which these keep their part of
      "thread_starts_without_address_space",       // they take more addresses
      "new_handler_is_called_and_retried",         // they give addresses back
      "calloc_of_fresh_memory_writes_nothing",     // their edges are written
      "random_sizes_fit_in_few_addresses",         // the same
      "realloc_shrinks_in_place",                  // writes to the size before the last
      "blocks_shrink_without_memory",              // an object much smaller is another one
      "realloc_at_the_border_of_the_pool",         // asks for the class of a request
      "calls_without_frame_pointers",              // its calls have no unwind tables either
      "forked_child_exits_undelayed",              // looks at all objects
      "works_in_a_sandbox",                        // its checks hold signals back, by a call
      "realloc_of_large_blocks",                   // counts blocks, and what is freed waits
      "freed_blocks_wait_for_as_many_others",      // they wait in the quarantine as well
      "limit_leaves_glibc_as_it_is",               // which sees no free of what waits
      "no_cxx_runtime_in_c_programs",              // the unwinder is libgcc_s
  };
  check_programs(checked, "PKTMALLOC_QUARANTINE", "1MiB", exceptions);
}

TEST_CASE("the checked library has the same exports and needs libc and nothing else") {
  check_interface("libpktmalloc-checked.so");
}

TEST_CASE("preloaded under a program linked with the normal library it takes that one's place") {
  const Outcome outcome = checked({program_path("double_free_is_told", "shared")}).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.err.find("an object of 100 bytes") != std::string::npos);
}

TEST_CASE("the normal library says of each option of the checked one that it does nothing") {
  const std::pair<std::string, std::string> options[] = {{"PKTMALLOC_QUARANTINE", "1MiB"},
                                                         {"PKTMALLOC_GUARD", "64"}};
  for (const auto& [name, value] : options) {
    const Outcome outcome = Program({program_path("hello")}).preloaded().with(name, value).run();
    CHECK(outcome.out == "hello\n");
    CHECK(outcome.err == "pktmalloc: " + name + "=" + value +
                             " does nothing here: it is for libpktmalloc-checked.so\n");
    CHECK(checked({program_path("hello")}).with(name, value).run().err.empty());
  }
  CHECK(Program({program_path("hello")}).preloaded().with("PKTMALLOC_CHECK", "report").run().err ==
        "pktmalloc: PKTMALLOC_CHECK=report does nothing here: it is for libpktmalloc-checked.so, "
        "libpktmalloc-hardened.so and PKTMALLOC_SAMPLE_GUARD\n");
  CHECK(checked({program_path("hello")}).with("PKTMALLOC_CHECK", "warn").run().err ==
        "pktmalloc: PKTMALLOC_CHECK=warn is not understood; accepted: abort or report; using "
        "abort\n");
  CHECK(checked({program_path("hello")})
            .with("PKTMALLOC_GUARD", "300K")
            .run()
            .err.find("PKTMALLOC_GUARD=300K is not understood") != std::string::npos);
}
