// SPDX-License-Identifier: MIT
#include "tools/command/report/report_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/command/report/places.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::ordered_json;

// "in_threads"
std::string key_of(unsigned place) {
  std::string key = kPlaceNames[place];
  std::replace(key.begin(), key.end(), ' ', '_');
  return key + "_bytes";
}

// A class has no metadata of its own.
void add_places(Json& json, const Places& places, unsigned count) {
  for (unsigned i = 0; i < count; ++i) json[key_of(i)] = places[i];
}

Json json_of(const Reading& r) {
  const ProcessStatistics& p = r.snapshot.process;
  Json json = {{"time", r.time}, {"version", r.version}};
  add_places(json, places_of(p), kPlaces);
  json["committed_bytes"] = p.committed_bytes;
  json["resident_bytes"] = p.resident_bytes;
  json["waiting_bytes"] = p.waiting_bytes;
  json["purged_bytes"] = p.purged_bytes;
  json["allocs"] = p.allocs;
  json["frees"] = p.frees;
  json["passed"] = p.passed;
  json["classes"] = Json::array();
  const auto by_size = [](const ClassStatistics& a, const ClassStatistics& b) {
    return a.object_bytes < b.object_bytes;
  };
  for (const ClassStatistics& c : used_classes(r.snapshot, by_size)) {
    Json of_class = {{"bytes", c.object_bytes}};
    add_places(of_class, places_of(c), kMetadata);
    of_class["committed_bytes"] = c.committed_bytes;
    json["classes"].push_back(of_class);
  }
  return json;
}

}  // namespace

std::string json_of(const std::vector<Series>& all) {
  Json processes = Json::array();
  for (const Series& series : all) {
    Json readings = Json::array();
    for (const Reading& r : series.readings) readings.push_back(json_of(r));
    processes.push_back({{"program", series.program}, {"pid", series.pid}, {"readings", readings}});
  }
  const Json json = {{"schema", 1}, {"processes", processes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pktmalloc
