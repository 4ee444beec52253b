// SPDX-License-Identifier: MIT
// pktmalloc report, and files of statistics with numbers of our choice.
#pragma once

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/temporary_folder.h"

using Json = nlohmann::json;
using Words = std::vector<std::string>;

inline constexpr uint64_t kMiB = 1 << 20;

inline Outcome report(const Words& arguments) {
  Words words = {build_path("pktmalloc"), "report"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Program(words).with("TZ", "UTC").run();
}

// The first line that begins with the word, its blanks made one; "" if there is none.
inline std::string line_of(const std::string& text, const std::string& word) {
  for (const std::string& line : lines(text)) {
    std::istringstream words(line);
    std::string joined;
    for (std::string w; words >> w;) joined += (joined.empty() ? "" : " ") + w;
    if (joined.rfind(word + " ", 0) == 0) return joined;
  }
  return "";
}

// Statistics of a process with one megabyte more committed than live in each class.
struct Class {
  uint64_t bytes, live_bytes, depot_takes;
};
inline Json statistics(int pid, int64_t time, const std::vector<Class>& classes) {
  Json json = {{"schema", 1},  {"version", "0.1.0"},        {"program", "server"},     {"pid", pid},
               {"time", time}, {"process", Json::object()}, {"passed", Json::object()}};
  uint64_t live = 0;
  uint64_t allocs = 0;
  json["classes"] = Json::array();
  for (const Class& c : classes) {
    const uint64_t objects = c.live_bytes / c.bytes;
    live += objects * c.bytes;
    allocs += objects + 1000;
    json["classes"].push_back({{"bytes", c.bytes},
                               {"allocs", objects + 1000},
                               {"frees", 1000},
                               {"live", objects},
                               {"fills", 1},
                               {"depot_takes", c.depot_takes},
                               {"active_bytes", c.live_bytes},
                               {"free_bytes", kMiB},
                               {"committed_bytes", c.live_bytes + kMiB}});
  }
  const uint64_t committed = live + classes.size() * kMiB;
  json["process"] = {{"allocated_bytes", live},
                     {"active_bytes", live},
                     {"free_bytes", committed - live},
                     {"committed_bytes", committed},
                     {"resident_bytes", live},
                     {"metadata_bytes", kMiB},
                     {"allocs", allocs},
                     {"threads_alive", 2}};
  return json;
}

class Files : public TemporaryFolder {
 public:
  std::string add(const std::string& name, const Json& json) const {
    write(name, json.dump());
    return *this / name;
  }
};
