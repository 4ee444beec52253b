// SPDX-License-Identifier: MIT
// PKTMALLOC_LIMIT and PKTMALLOC_SOFT_LIMIT from outside; tests/programs/limit_is_kept.cpp and
// soft_limit_gives_back_at_once.c look from inside.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/controlled.h"
#include "tests/memory_group.h"
#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tests/twins.h"

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

nlohmann::json statistics_of(Program program) {
  TemporaryFolder folder;
  const Outcome outcome = program.preloaded().with("PKTMALLOC_STATS", folder / "s.json").run();
  INFO(outcome);
  CHECK(outcome.err.empty());
  return nlohmann::json::parse(folder.read("s.json"))["process"];
}

}  // namespace

TEST_CASE("statistics tell the limits and what is used of them") {
  const auto none = statistics_of(Program({program_path("hello")}));
  CHECK(none["limit_bytes"] == 0);
  CHECK(none["soft_limit_bytes"] == 0);
  CHECK(none["limited_bytes"] == 0);
  const auto both = statistics_of(Program({program_path("hello")})
                                      .with("PKTMALLOC_LIMIT", "64MiB")
                                      .with("PKTMALLOC_SOFT_LIMIT", "32MiB"));
  CHECK(both["limit_bytes"] == 64 * kMiB);
  CHECK(both["soft_limit_bytes"] == 32 * kMiB);
  CHECK(both["limited_bytes"] >= both["committed_bytes"].get<uint64_t>() / 4);
  CHECK(both["limited_bytes"] < 8 * kMiB);
}

TEST_CASE("what was refused is not counted") {
  for (const std::string name : {"PKTMALLOC_SOFT_LIMIT", "PKTMALLOC_LIMIT"}) {
    const auto process = statistics_of(
        Program({program_path("refused_requests_count_nothing")}).with(name, "64MiB"));
    CHECK(process["limited_bytes"] < 8 * kMiB);
  }
}

TEST_CASE("stat, the text and the report show a limit and how far it is") {
  const Waiting program(controlled({{"PKTMALLOC_LIMIT", "64MiB"}}));
  const Outcome outcome = Program({build_path("pktmalloc"), "stat", program.id}).run();
  INFO(outcome);
  CHECK(has(outcome.out, "limit      64.0 MiB"));
  CHECK(has(outcome.out, " MiB left\n"));
  CHECK_FALSE(has(outcome.out, "soft limit"));
  TemporaryFolder folder;
  const std::string file = folder / "s.json";
  CHECK(tell({program.id, "stats", file}).run().status == 0);
  const Outcome report = Program({build_path("pktmalloc"), "report", file}).run();
  INFO(report);
  CHECK(has(report.out, "64.0 MiB"));
  CHECK(has(report.out, " left"));
}

TEST_CASE("what threads freed in large blocks is within the limit, in each library") {
  for (const std::string library :
       {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    const Outcome outcome =
        preloaded_with(library, {program_path("large_blocks_of_threads_go_back")})
            .with("PKTMALLOC_LIMIT", "100MiB")
            .run();
    INFO(library << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("what one size filled and freed serves the others, in each library") {
  for (const std::string library :
       {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    const Outcome outcome =
        preloaded_with(library, {program_path("freed_memory_at_a_limit_serves_other_sizes")})
            .with("PKTMALLOC_LIMIT", "16MiB")
            .run();
    INFO(library << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("a share is that of the group's memory, and a limit keeps a program alive in its group") {
  MemoryGroup group;
  if (!group) skip("no cgroup with a limit of memory can be made here");
  REQUIRE(group.limit(128 * kMiB));
  const auto half =
      statistics_of(Program(group.inside({program_path("hello")})).with("PKTMALLOC_LIMIT", "50%"));
  CHECK(half["limit_bytes"] == 128 * kMiB / 100 * 50);

  const std::string fills = program_path("limit_is_kept");
  const Outcome kept =
      Program(group.inside({fills})).preloaded().with("PKTMALLOC_LIMIT", "50%").run();
  INFO(kept);
  CHECK(kept.clean());
  const Outcome killed = Program(group.inside({fills})).preloaded().run();
  INFO(killed);
  CHECK_FALSE(killed.clean());
}

TEST_CASE("a reservation that a group of the system has no memory for is refused in one line") {
  MemoryGroup group;
  if (!group || !group.limit(64 << 20)) skip("no group with a limit of memory can be made here");
  const Outcome outcome = Program(group.inside({program_path("known_calls")}))
                              .preloaded()
                              .with("PKTMALLOC_RESERVE", "16:3000000")  // 46 MiB and magazines
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.err, "PKTMALLOC_RESERVE: 3000000 objects of 16 bytes take "));
}

TEST_CASE("a reservation beyond the limit is refused in one line") {
  const Outcome outcome = Program({program_path("known_calls")})
                              .preloaded()
                              .with("PKTMALLOC_LIMIT", "16MiB")
                              .with("PKTMALLOC_RESERVE", "1500:100000")
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(has(outcome.err, "PKTMALLOC_RESERVE: 100000 objects of 1500 bytes take "));
  CHECK(has(outcome.err, "nothing is reserved for them"));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}
