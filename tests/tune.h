// SPDX-License-Identifier: MIT
// For the tests of pktmalloc tune: recordings that were made up, and the command's answers.
#pragma once

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"

using Json = nlohmann::json;
using Table = std::vector<uint64_t>;

struct Request {
  uint64_t bytes, alignment, calls, live;
};

inline Json recording_of(const std::vector<Request>& requests,
                         const std::string& program = "made-up") {
  Json sizes = Json::array();
  for (const Request& r : requests) {
    sizes.push_back({{"bytes", r.bytes},
                     {"alignment", r.alignment},
                     {"calls", r.calls},
                     {"live_at_peak", r.live},
                     {"threads", 1}});
  }
  return {{"schema", 1},  {"content", "sizes"}, {"program", program}, {"pid", 1},
          {"threads", 1}, {"missing", 0},       {"sizes", sizes}};
}

inline Outcome tune(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {build_path("pktmalloc"), "tune"});
  return Program(arguments).run();
}

inline Json tuned(const std::vector<Request>& requests, std::vector<std::string> arguments = {}) {
  TemporaryFolder folder;
  folder.write("s.json", recording_of(requests).dump());
  arguments.insert(arguments.end(), {folder / "s.json", "--json"});
  const Outcome outcome = tune(arguments);
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  REQUIRE(outcome.err.empty());
  return Json::parse(outcome.out);
}

inline Table table_of(const Json& tuning) {
  Table table;
  std::istringstream list(tuning.at("PKTMALLOC_CLASSES").get<std::string>());
  for (std::string size; std::getline(list, size, ',');) table.push_back(std::stoull(size));
  return table;
}
