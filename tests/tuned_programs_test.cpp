// SPDX-License-Identifier: MIT
// pktmalloc tune: programs that are recorded, tuned and run with their table.
#include "tests/skip.h"
#include "tests/tune.h"

#include <algorithm>

TEST_CASE("sizes that are recorded and tuned need the memory that was predicted") {
  TemporaryFolder folder;
  const std::vector<std::string> program = {program_path("statistics_are_exact")};
  REQUIRE(Program(program).preloaded().with("PKTMALLOC_SIZES", folder / "s.json").run().clean());
  const Outcome outcome = tune({folder / "s.json", "--json", "--classes", "20"});
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  const Json tuning = Json::parse(outcome.out);
  const Table table = table_of(tuning);
  CHECK(std::count(table.begin(), table.end(), 640) == 1);
  CHECK(std::count(table.begin(), table.end(), 49152) == 1);
  CHECK(Program(program)
            .preloaded()
            .with("PKTMALLOC_CLASSES", tuning.at("PKTMALLOC_CLASSES"))
            .with("PKTMALLOC_STATS", folder / "t.json")
            .run()
            .clean());
  // The program holds most at its end. Before the library's constructor some 70 KB are not seen.
  const Json statistics = Json::parse(folder.read("t.json"));
  const Json& after = tuning.at("tuned");
  const uint64_t wanted = after.at("requested_bytes_at_peak").get<uint64_t>() +
                          after.at("rounding_bytes_at_peak").get<uint64_t>();
  const Json& process = statistics.at("process");
  const uint64_t allocated =
      process.at("allocated_bytes").get<uint64_t>() - process.at("block_bytes").get<uint64_t>();
  CHECK(wanted > 1234 * 640 + 77 * 49152);
  CHECK(allocated + 10000 > wanted);
  CHECK(allocated < wanted + 100000);
}

TEST_CASE("in a real program slack falls as predicted, and memory is what was predicted") {
  skip_without({"sqlite3"});
  TemporaryFolder folder;
  // Its process at the moment when it holds the whole table, as seen from outside.
  const auto look = [&](const std::string& option, const std::string& value) {
    const Outcome outcome =
        Program({"sqlite3", ":memory:",
                 "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 "
                 "from n limit 20000) insert into t select i, hex(zeroblob(i % 700)) from n",
                 ".shell " + build_path("pktmalloc") + " stat --json $PPID > " + (folder / "stat")})
            .preloaded()
            .with("PKTMALLOC_CHILDREN", "0")
            .with("PKTMALLOC_AGE", "1h")  // nothing goes back, however slow the machine
            .with(option, value)
            .run();
    INFO(outcome);
    REQUIRE(outcome.clean());
    return Json::parse(folder.read("stat")).at("process");
  };
  const Json before = look("PKTMALLOC_SIZES", folder / "s.json");
  const Json tuning = Json::parse(tune({folder / "s.json", "--json"}).out);
  const Json after = look("PKTMALLOC_CLASSES", tuning.at("PKTMALLOC_CLASSES"));
  const auto fell = [](const Json& from, const Json& to, const char* key) {
    return from.at(key).get<double>() - to.at(key).get<double>();
  };
  const auto predicted_to_fall = [&](const char* key) {
    return fell(tuning.at("default"), tuning.at("tuned"), key);
  };
  INFO(before << "\n" << after << "\n" << tuning);
  // What the statement itself took at the peak is free again, and its slack gone.
  const double slack = predicted_to_fall("rounding_bytes_at_peak");
  CHECK(slack > 100'000);
  CHECK(fell(before, after, "allocated_bytes") == Approx(slack).margin(8192));
  const auto memory = [&](const char* table) {
    return Approx(tuning.at(table).at("memory_bytes").get<double>()).epsilon(0.05);
  };
  CHECK(before.at("resident_bytes").get<double>() == memory("default"));
  CHECK(after.at("resident_bytes").get<double>() == memory("tuned"));
}

namespace {

// What each prints does not depend on addresses, nor how much it holds on the clock.
const std::vector<std::string> kPrograms[] = {
    {program_path("peak_before_a_large_object")},
    {"sqlite3", ":memory:",
     "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
     "limit 20000) insert into t select i, hex(zeroblob(i % 700)) from n; "
     "select count(*), max(b) from t where a % 3 = 1;"},
    {"perl", "-e", "push @a, 't' x ($_ % 900) for 1 .. 60000; print scalar @a"},
    {"jq", "-n", "[range(30000) | {n: ., t: (\"x\" * (. % 300 + 1))}] | map(.t | length) | add"},
    {"awk",
     "BEGIN { for (i = 0; i < 60000; ++i) a[i] = sprintf(\"%0\" i % 300 \"d\", i); "
     "for (i in a) n += length(a[i]); print n }"},
    {"/usr/bin/python3", "-c",
     "all = {str(i): b'x' * (i % 700) for i in range(30000)}\nprint(sum(map(len, all.values())))"},
};

}  // namespace

TEST_CASE("programs do the same with their table, and have in memory what was predicted") {
  for (const std::vector<std::string>& argv : kPrograms) {
    if (!at_hand(argv[0])) continue;
    TemporaryFolder folder;
    const auto run = [&](const std::string& classes, const std::string& sizes) {
      return Program(argv)
          .preloaded()
          .with("PYTHONMALLOC", "malloc")
          .with("PYTHONHASHSEED", "0")
          .with("PERL_HASH_SEED", "0")
          .with("PKTMALLOC_AGE", "1h")  // nothing goes back, however slow the machine
          .with("PKTMALLOC_CLASSES", classes)
          .with("PKTMALLOC_SIZES", sizes)
          .run();
    };
    const Outcome recorded = run("default", folder / "s.json");
    CHECK(recorded.err.empty());
    const Outcome outcome = tune({folder / "s.json", "--json"});
    REQUIRE(outcome.status == 0);
    const Json tuning = Json::parse(outcome.out);
    CHECK(tuning.at("tuned").at("rounding_bytes_at_peak") >=
          tuning.at("least_rounding_bytes_at_peak"));
    CHECK(tuning.at("tuned").at("page_bytes") < tuning.at("default").at("page_bytes"));
    const Outcome again = run(tuning.at("PKTMALLOC_CLASSES"), folder / "again.json");
    INFO(argv[0] << ": " << again << "\n" << tuning);
    CHECK(again.status == 0);
    CHECK(again.out == recorded.out);
    CHECK(again.err.empty());
    // Versions differ in what they hold; the first program is our own.
    if (&argv == kPrograms) CHECK(tuning.at("memory_unknown") == "");
    if (tuning.at("memory_unknown") != "") continue;
    const double memory = Json::parse(folder.read("again.json")).at("memory_bytes");
    CHECK(tuning.at("tuned").at("memory_bytes").get<double>() == Approx(memory).epsilon(0.05));
  }
}

TEST_CASE("where memory cannot be predicted tune says so, and what it measured") {
  // Objects that are never written to, and threads.
  for (const std::string name : {"peak_of_random_sizes", "statistics_are_exact"}) {
    TemporaryFolder folder;
    REQUIRE(Program({program_path(name)})
                .preloaded()
                .with("PKTMALLOC_SIZES", folder / "s.json")
                .run()
                .status == 0);
    const Json tuning = Json::parse(tune({folder / "s.json", "--json"}).out);
    INFO(tuning);
    CHECK(tuning.at("tuned").at("memory_bytes").is_null());
    CHECK(tuning.at("memory_unknown") != "");
    CHECK(tuning.at("default").at("memory_bytes") ==
          Json::parse(folder.read("s.json")).at("memory_bytes"));
    const std::string text = tune({folder / "s.json"}).out;
    CHECK(text.find("\nmemory is unknown: ") != std::string::npos);
  }
}
