// SPDX-License-Identifier: MIT
// pktmalloc tune: its table is the best there is, its prediction what the library does.
#include "tests/tune.h"

#include <algorithm>
#include <compare>
#include <random>
#include <utility>

namespace {

// The rules of the engine once more, as simply as can be. `just_above`: an aligned request that the
// first class does not suit is passed on, as tune counts it.
uint64_t step_of(uint64_t bytes) { return bytes <= 32768 ? 16 : 4096; }

uint64_t rounded(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  return (bytes + step_of(bytes) - 1) / step_of(bytes) * step_of(bytes);
}

uint64_t class_for(const Table& table, const Request& r, bool just_above) {
  const uint64_t a = std::max<uint64_t>(r.alignment, 1);
  const uint64_t least = (std::max<uint64_t>(r.bytes, 1) + a - 1) / a * a;
  auto at = std::lower_bound(table.begin(), table.end(), rounded(least));
  if (at == table.end() || rounded(least) * 2 < *at) return 0;
  for (; at != table.end() && *at % a != 0; ++at) {
    if (just_above) return 0;
  }
  if (at == table.end()) return 0;
  return (r.alignment == 0 ? rounded(least) : least) * 2 < *at ? 0 : *at;
}

struct Cost {
  uint64_t passed = 0;  // calls
  uint64_t lost = 0;    // bytes
  auto operator<=>(const Cost&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Cost& cost) {
  return stream << cost.passed << " passed on, " << cost.lost << " lost";
}

Cost cost_of(const Table& table, const std::vector<Request>& requests, bool just_above = false) {
  Cost cost;
  for (const Request& r : requests) {
    const uint64_t bytes = class_for(table, r, just_above);
    bytes == 0 ? cost.passed += r.calls : cost.lost += (bytes - r.bytes) * r.live;
  }
  return cost;
}

// Of all tables of at most so many of these sizes.
Cost least_cost(const std::vector<uint64_t>& sizes, unsigned classes, size_t from, Table& table,
                const std::vector<Request>& requests, bool just_above) {
  Cost least = cost_of(table, requests, just_above);
  for (size_t i = from; classes > 0 && i < sizes.size(); ++i) {
    table.push_back(sizes[i]);
    least = std::min(least, least_cost(sizes, classes - 1, i + 1, table, requests, just_above));
    table.pop_back();
  }
  return least;
}

struct Range {
  uint64_t first, last;  // sizes of requests; all classes between them are tried
  std::vector<uint64_t> classes() const {
    std::vector<uint64_t> sizes;
    for (uint64_t size = rounded(first); size <= rounded(last); size = rounded(size + 1)) {
      sizes.push_back(size);
    }
    return sizes;
  }
};

std::vector<Request> random_requests(std::mt19937& random, const Range& range,
                                     const std::vector<uint64_t>& alignments) {
  std::vector<Request> requests;
  const auto draw = [&](uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random);
  };
  const uint64_t count = draw(1, 12);
  for (uint64_t i = 0; i < count; ++i) {
    requests.push_back({draw(range.first, range.last), alignments[draw(0, alignments.size() - 1)],
                        draw(1, 9), draw(0, 3) == 0 ? 0 : draw(1, 100)});
  }
  return requests;
}

Cost predicted(const Json& tuning) {
  return {tuning.at("tuned").at("passed_calls"), tuning.at("tuned").at("rounding_bytes_at_peak")};
}

// What the library makes of malloc of each size, with these options.
std::vector<uint64_t> classes_in_library(const std::vector<Request>& requests,
                                         const std::string& classes) {
  std::vector<std::string> argv = {program_path("pooled_sizes")};
  for (const Request& r : requests) argv.push_back(std::to_string(r.bytes));
  const Outcome outcome = Program(argv).preloaded().with("PKTMALLOC_CLASSES", classes).run();
  REQUIRE(outcome.status == 0);
  std::vector<uint64_t> found;
  std::istringstream lines(outcome.out);
  for (uint64_t bytes; lines >> bytes;) found.push_back(bytes);
  REQUIRE(found.size() == requests.size());
  return found;
}

Cost cost_in_library(const std::vector<Request>& requests, const std::string& classes) {
  const std::vector<uint64_t> found = classes_in_library(requests, classes);
  Cost cost;
  for (size_t i = 0; i < requests.size(); ++i) {
    found[i] == 0 ? cost.passed += requests[i].calls
                  : cost.lost += (found[i] - requests[i].bytes) * requests[i].live;
  }
  return cost;
}

}  // namespace

TEST_CASE("no table of as many classes is better") {
  std::mt19937 random(1);
  const Range ranges[] = {{0, 360}, {600, 980}, {32500, 90000}, {200000, 262144}};
  for (int round = 0; round < 120; ++round) {
    const Range& range = ranges[round % 4];
    const unsigned classes = 1 + static_cast<unsigned>(round / 4 % 4);
    const std::vector<Request> requests = random_requests(random, range, {0});
    const Json tuning = tuned(requests, {"--classes", std::to_string(classes)});
    INFO(recording_of(requests).dump() << "\n" << tuning.dump());
    Table none;
    CHECK(predicted(tuning) == least_cost(range.classes(), classes, 0, none, requests, false));
    CHECK(predicted(tuning) == cost_of(table_of(tuning), requests));
    CHECK(table_of(tuning).size() <= classes);
  }
}

TEST_CASE("with aligned requests no table is better in which these suit the class just above") {
  std::mt19937 random(2);
  const Range ranges[] = {{16, 360}, {33000, 80000}};
  for (int round = 0; round < 80; ++round) {
    const Range& range = ranges[round % 2];
    const unsigned classes = 1 + static_cast<unsigned>(round / 2 % 4);
    const std::vector<Request> requests =
        random_requests(random, range, {0, 0, 8, 16, 32, 64, round % 2 == 0 ? 128u : 8192u});
    const Json tuning = tuned(requests, {"--classes", std::to_string(classes)});
    INFO(recording_of(requests).dump() << "\n" << tuning.dump());
    // Some are aligned at more than the range's end.
    std::vector<uint64_t> sizes = Range{range.first, range.last + 8192}.classes();
    if (round % 2 == 0) sizes = Range{range.first, range.last + 64}.classes();
    Table none;
    CHECK(predicted(tuning) <= least_cost(sizes, classes, 0, none, requests, true));
    CHECK(predicted(tuning) >= least_cost(sizes, classes, 0, none, requests, false));
    CHECK(predicted(tuning) == cost_of(table_of(tuning), requests));
  }
}

TEST_CASE("the library serves with the table as predicted, and with the default one") {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    std::vector<Request> requests;
    for (const Range range : {Range{0, 500}, Range{500, 9000}, Range{9000, 70000},
                              Range{70000, 262144}, Range{262145, 2000000}}) {
      for (const Request& r : random_requests(random, range, {0})) requests.push_back(r);
    }
    const Json tuning = tuned(requests, {"--classes", std::to_string(2 + 5 * round)});
    INFO(recording_of(requests).dump() << "\n" << tuning.dump());
    CHECK(predicted(tuning) == cost_in_library(requests, tuning.at("PKTMALLOC_CLASSES")));
    const Json& before = tuning.at("default");
    CHECK(Cost{before.at("passed_calls"), before.at("rounding_bytes_at_peak")} ==
          cost_in_library(requests, "default"));
  }
}

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
  const uint64_t allocated = statistics.at("process").at("allocated_bytes");
  CHECK(wanted > 1234 * 640 + 77 * 49152);
  CHECK(allocated + 10000 > wanted);
  CHECK(allocated < wanted + 100000);
}

TEST_CASE("real programs do the same with the table that was tuned to them") {
  const std::vector<std::string> programs[] = {
      {"sqlite3", ":memory:",
       "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
       "limit 20000) insert into t select i, hex(i * 7919) from n; "
       "select count(*), max(b) from t where a % 3 = 1;"},
      {"perl", "-e", "$h{$_ % 5003} .= $_ for 1 .. 100000; print length join '', sort values %h"},
      {"/usr/bin/python3", "-c",
       "import json\nprint(sum(len(json.dumps({str(i): [i] * (i % 99)})) for i in range(9000)))"}};
  for (const std::vector<std::string>& argv : programs) {
    if (!installed(argv[0])) continue;
    TemporaryFolder folder;
    const auto run = [&](const std::string& option, const std::string& value) {
      return Program(argv)
          .preloaded()
          .with("PYTHONMALLOC", "malloc")
          .with("PYTHONHASHSEED", "0")
          .with("PERL_HASH_SEED", "0")
          .with(option, value)
          .with("PKTMALLOC_STATS", folder / "statistics.json")
          .run();
    };
    const Outcome recorded = run("PKTMALLOC_SIZES", folder / "s.json");
    CHECK(recorded.err.empty());
    const Outcome outcome = tune({folder / "s.json", "--json"});
    REQUIRE(outcome.status == 0);
    const Json tuning = Json::parse(outcome.out);
    const auto rounding = [&](const char* table) {
      return tuning.at(table).at("rounding_bytes_at_peak").get<uint64_t>();
    };
    CHECK(rounding("tuned") < rounding("default"));
    CHECK(rounding("tuned") >= tuning.at("least_rounding_bytes_at_peak").get<uint64_t>());
    const Outcome again = run("PKTMALLOC_CLASSES", tuning.at("PKTMALLOC_CLASSES"));
    INFO(argv[0] << ": " << again);
    CHECK(again.status == 0);
    CHECK(again.out == recorded.out);
    CHECK(again.err.empty());
  }
}

TEST_CASE("requests are served as far as classes go, and larger ones stay where they are") {
  const std::vector<Request> requests = {{100, 0, 5, 1000}, {3000, 0, 1000, 0}, {300000, 0, 9, 9}};
  const Json one = tuned(requests, {"--classes", "1"});
  CHECK(table_of(one) == Table{3008});
  CHECK(predicted(one) == Cost{5 + 9, 0});
  CHECK(one.at("tuned").at("passed_bytes_at_peak") == 100 * 1000 + 300000 * 9);
  CHECK(table_of(tuned(requests)) == Table{112, 3008});
  CHECK(table_of(tuned(requests, {"--largest", "1048576"})) == Table{112, 3008, 303104});
}
