// SPDX-License-Identifier: MIT
// What happens when things go wrong: limits, refusals, foreign pointers, wrong frees.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/memory_group.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20;
constexpr rlim_t kGiB = rlim_t{1} << 30;

std::string field(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\": ");
  if (at == std::string::npos) return "";
  const size_t from = at + key.size() + 4;
  return json.substr(from, json.find_first_of(",\n}", from) - from);
}

Program preloaded(const std::string& name) {
  Program program({program_path(name)});
  program.preloaded();
  return program;
}

}  // namespace

TEST_CASE(
    "programs work in any limit of address space, and the statistics tell whether they pool") {
  struct Row {
    rlim_t limit;
    bool pooled;
  };
  const Row rows[] = {{256 * kMiB, false}, {511 * kMiB, false}, {512 * kMiB, true},
                      {1024 * kMiB, true}, {16 * kGiB, true},   {1024 * kGiB, true}};
  for (const Row& row : rows) {
    TemporaryFolder folder;
    const Outcome outcome = preloaded("work_under_limits")
                                .limit(RLIMIT_AS, row.limit)
                                .with("PKTMALLOC_STATS", folder / "s.json")
                                .run();
    INFO((row.limit / kMiB) << " MiB: " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.err.empty());
    const std::string json = folder.read("s.json");
    const uint64_t reserved = std::stoull("0" + field(json, "reserved_bytes"));
    INFO(json.substr(0, 1500));
    CHECK((reserved > 0) == row.pooled);
    CHECK(reserved <= row.limit / 2);
    CHECK((std::stoull("0" + field(json, "passed")) > 1000) != row.pooled);
    CHECK((std::stoull("0" + field(json, "allocs")) > 0) == row.pooled);

    const Outcome told = preloaded("work_under_limits")
                             .limit(RLIMIT_AS, row.limit)
                             .with("PKTMALLOC_STATS", "1")
                             .run();
    CHECK((told.err.find("nothing is pooled (is ulimit") != std::string::npos) != row.pooled);
  }
}

TEST_CASE("real programs work in limits of address space") {
  const std::string sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) "
      "SELECT count(*), sum(i), max(printf('%050d', i)) FROM n ORDER BY i;";
  const std::string perl =
      "my %h; $h{$_} = 'x' x ($_ % 500) for 1..20000; my $n = 0; $n += length for values %h; "
      "print \"$n\\n\"";
  const std::vector<std::vector<std::string>> commands = {{"sqlite3", ":memory:", sql},
                                                          {"perl", "-e", perl}};
  for (const auto& command : commands) {
    if (!at_hand(command[0])) continue;
    const Outcome alone = Program(command).run();
    for (const rlim_t limit : {256 * kMiB, 2 * kGiB, 8 * kGiB, 64 * kGiB, 1024 * kGiB}) {
      const Outcome outcome = Program(command).preloaded().limit(RLIMIT_AS, limit).run();
      INFO(command[0] << " in " << limit / kMiB << " MiB: " << outcome);
      CHECK(outcome.status == 0);
      CHECK(outcome.out == alone.out);
      CHECK(outcome.err.empty());
    }
  }
}

TEST_CASE("programs work in a limit of data") {
  for (const rlim_t limit : {48 * kMiB, 128 * kMiB, 1024 * kMiB}) {
    const Outcome outcome =
        preloaded("work_under_limits").limit(RLIMIT_DATA, limit).with("PKTMALLOC_STATS", "1").run();
    INFO((limit / kMiB) << " MiB: " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "done\n");
    // Of a small limit half-filled slabs would take too much.
    const bool pools = outcome.err.find("nothing is pooled (is ulimit") == std::string::npos;
    CHECK(pools == (limit >= 512 * kMiB));
  }
}

TEST_CASE("programs work in a group with a limit of memory") {
  MemoryGroup group;
  if (!group) skip("no cgroup with a limit of memory can be made here");
  for (const uint64_t limit : {32 * kMiB, 64 * kMiB, 256 * kMiB}) {
    REQUIRE(group.limit(limit));
    const Outcome outcome =
        Program(group.inside({program_path("work_under_limits")})).preloaded().run();
    INFO((limit / kMiB) << " MiB: " << outcome);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == "done\n");
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("an exhausted class is counted") {
  TemporaryFolder folder;
  const Outcome outcome = preloaded("exhausted_class_is_served_by_the_next_allocator")
                              .limit(RLIMIT_AS, 16 * kGiB)
                              .with("PKTMALLOC_STATS", folder / "s.json")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  const std::string json = folder.read("s.json");
  const std::string exhausted = json.substr(json.find("\"exhausted\": "));
  CHECK(std::stoull(field(exhausted, "to_32KiB")) > 2 * 56000);
}

TEST_CASE("overcommit that is refused is survived") {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int mode = -1;
  file >> mode;
  if (mode != 2) skip("vm.overcommit_memory is not 2 on this machine");
  const Outcome outcome = preloaded("work_under_limits").run();
  INFO(outcome);
  CHECK(outcome.status == 0);
}

TEST_CASE("a wrong free is told in one line, then the program is aborted") {
  struct Row {
    std::string name, before, after;  // the text around the pointer
  };
  const std::string later = "; an earlier call may be at fault: `pktmalloc run --checked` finds it";
  const Row rows[] = {
      {"double_free_is_told", "double free of ", ", an object of up to 112 bytes"},
      {"double_free_in_a_batch_is_told", "double free of ", ", an object of up to 112 bytes"},
      {"double_free_in_a_child_is_told", "double free of ",
       ", an object of up to 112 bytes" + later},
      {"double_free_in_a_sandbox_is_told", "double free of ", ", an object of up to 112 bytes"},
      {"double_free_of_many_is_told", "double free of ", ", an object of up to 2048 bytes"},
      {"free_inside_a_block_is_told", "free of ",
       ", 70016 bytes inside an object of up to 1048576 bytes" + later},
      {"free_inside_an_object_is_told", "free of ",
       ", 16 bytes inside an object of up to 1024 bytes" + later},
      {"free_of_what_never_was_is_told", "free of ", ", which malloc never returned" + later},
  };
  for (const Row& row : rows) {
    for (const std::string way : {"plain", "shared", "static"}) {
      Program program({program_path(row.name, way)});
      if (way == "plain") program.preloaded();
      const Outcome outcome = program.run();
      INFO(row.name << ", " << way << ": " << outcome);
      CHECK(outcome.signal == SIGABRT);
      REQUIRE(!outcome.out.empty());
      const std::string pointer = outcome.out.substr(0, outcome.out.size() - 1);
      CHECK(outcome.err == "pktmalloc: " + row.before + pointer + row.after + "\n");
    }
  }
}
