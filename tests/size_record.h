// SPDX-License-Identifier: MIT
// For the tests of PKTMALLOC_SIZES: programs that are recorded, and what was.
#pragma once

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/program.h"

using Json = nlohmann::json;

struct Row {
  uint64_t calls, live_at_peak, threads;
  bool operator==(const Row& other) const {
    return calls == other.calls && live_at_peak == other.live_at_peak && threads == other.threads;
  }
};

inline std::ostream& operator<<(std::ostream& stream, const Row& row) {
  return stream << row.calls << " calls, " << row.live_at_peak << " live, " << row.threads
                << " threads";
}

// By size and alignment.
using Rows = std::map<std::pair<uint64_t, uint64_t>, Row>;

inline Rows rows_of(const Json& recording) {
  Rows rows;
  for (const Json& from : recording.at("sizes")) {
    const bool fresh =
        rows.insert({{from.at("bytes"), from.at("alignment")},
                     {from.at("calls"), from.at("live_at_peak"), from.at("threads")}})
            .second;
    CHECK(fresh);
  }
  return rows;
}

// Objects of up to 256 KiB count.
inline uint64_t bytes_at_peak(const Rows& rows) {
  uint64_t sum = 0;
  for (const auto& [request, row] : rows) {
    if (request.first <= 262144) sum += request.first * row.live_at_peak;
  }
  return sum;
}

inline Json read(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

inline Program recorded(std::vector<std::string> argv, const std::string& path) {
  return Program(std::move(argv)).preloaded().with("PKTMALLOC_SIZES", path);
}
