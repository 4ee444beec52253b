// SPDX-License-Identifier: MIT
// pktmalloc tune: its table is the best there is, its prediction what the library does.
#include "tests/tune.h"

#include <algorithm>
#include <compare>
#include <map>
#include <random>

namespace {

// The rules of the engine once more, as simply as can be. `just_above`: an aligned request that the
// first class does not suit is passed on, as tune counts it.
uint64_t step_of(uint64_t bytes) { return bytes <= 32768 ? 16 : 4096; }

uint64_t rounded(uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, 1);
  return (bytes + step_of(bytes) - 1) / step_of(bytes) * step_of(bytes);
}

uint64_t class_for(const Table& table, const Request& r, bool just_above) {
  const uint64_t a = r.alignment <= 16 ? 1 : r.alignment;  // every class suits up to 16
  const uint64_t least = (std::max<uint64_t>(r.bytes, 1) + a - 1) / a * a;
  auto at = std::lower_bound(table.begin(), table.end(), rounded(least));
  if (at == table.end() || rounded(least) * 2 < *at) return 0;
  for (; at != table.end() && *at % a != 0; ++at) {
    if (just_above) return 0;
  }
  if (at == table.end()) return 0;
  return (a == 1 ? rounded(least) : least) * 2 < *at ? 0 : *at;
}

// Bytes of pages for objects of a class. A slab is the smallest that loses under 3 % behind its
// last object and holds four, or up to 1 MiB the one that loses least.
uint64_t pages(uint64_t bytes, uint64_t objects) {
  uint64_t slab = 65536;
  while (slab < 4 * bytes) slab *= 2;
  const auto end = [&](uint64_t of) { return static_cast<double>(of % bytes) / of; };
  uint64_t best = slab;
  for (; slab <= 1 << 20 && end(best) >= 0.03; slab *= 2) {
    if (end(slab) < end(best)) best = slab;
  }
  uint64_t sum = 0;
  for (; objects > 0; objects -= std::min(objects, best / bytes)) {
    sum += (std::min(objects, best / bytes) * bytes + 4095) / 4096 * 4096;
  }
  return sum;
}

struct Cost {
  uint64_t passed = 0;  // calls
  uint64_t lost = 0;    // bytes
  auto operator<=>(const Cost&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Cost& cost) {
  return stream << cost.passed << " passed on, " << cost.lost << " lost";
}

// Lost: what pages hold besides the bytes that were asked for.
Cost cost_of(const Table& table, const std::vector<Request>& requests, bool just_above = false) {
  Cost cost;
  std::map<uint64_t, uint64_t> objects;  // by class
  for (const Request& r : requests) {
    const uint64_t bytes = class_for(table, r, just_above);
    if (bytes == 0) {
      cost.passed += r.calls;
    } else {
      objects[bytes] += r.live;
      cost.lost -= r.bytes * r.live;
    }
  }
  for (const auto& [bytes, live] : objects) cost.lost += pages(bytes, live);
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

uint64_t figure(const Json& tuning, const char* table, const char* key) {
  return tuning.at(table).at(key);
}

Cost predicted(const Json& tuning) {
  return {
      figure(tuning, "tuned", "passed_calls"),
      figure(tuning, "tuned", "page_bytes") - figure(tuning, "tuned", "requested_bytes_at_peak")};
}

// Of rounding alone, which a program can see.
Cost rounding(const Json& tuning, const char* table) {
  return {figure(tuning, table, "passed_calls"), figure(tuning, table, "rounding_bytes_at_peak")};
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

// So tune looks only at classes that are as large as a request needs.
TEST_CASE("as many objects of a larger class never need fewer pages") {
  for (uint64_t size = 16; size < 1 << 20; size = rounded(size + 1)) {
    INFO(size);
    for (uint64_t objects = 1; objects < 300; ++objects) {
      if (pages(size, objects) > pages(rounded(size + 1), objects)) FAIL(objects << " objects");
    }
  }
  SUCCEED();
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
    CHECK(rounding(tuning, "tuned") == cost_in_library(requests, tuning.at("PKTMALLOC_CLASSES")));
    CHECK(rounding(tuning, "default") == cost_in_library(requests, "default"));
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
