// SPDX-License-Identifier: MIT
#include "tools/command/heap/census_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

std::string change_text(int64_t change, std::string (*text)(uint64_t)) {
  if (change == 0) return "=";
  return change > 0 ? "+" + text(static_cast<uint64_t>(change))
                    : "-" + text(static_cast<uint64_t>(-change));
}

std::string size_text(uint64_t bytes) { return bytes_text(bytes); }

enum class Part { kClasses, kTypes, kPlaces };

std::string part(const CensusTable& table, std::vector<Count> counts, uint64_t all_bytes,
                 Part part) {
  if (table.grown) {
    std::erase_if(counts, [](const Count& count) { return count.grown == 0; });
  }
  sort(counts, table.order);
  std::string text = fmt::format("{:>14}{:>12}{:>9}", "OBJECTS", "BYTES", "SHARE");
  if (table.grown) text += fmt::format("{:>14}{:>12}", "GROWN BY", "BYTES");
  if (part != Part::kPlaces) text += fmt::format("{:>9}", "SIZE");
  text += part == Part::kClasses ? "\n" : "  TYPE\n";
  const unsigned type_column = table.grown ? 63 : 37;
  for (size_t i = 0; i < std::min(counts.size(), table.most); ++i) {
    const Count& count = counts[i];
    text += fmt::format("{:>14}{:>12}{:>9}", count_text(count.objects), bytes_text(count.bytes),
                        share_text(count.bytes, all_bytes));
    if (table.grown) {
      text += fmt::format("{:>14}{:>12}", change_text(count.grown, count_text),
                          change_text(count.grown_bytes, size_text));
    }
    if (part != Part::kPlaces) text += fmt::format("{:>9}", count.object_bytes);
    if (part != Part::kClasses) text += "  " + (count.type.empty() ? "-" : count.type);
    if (!count.example.empty()) text += fmt::format(", for instance \"{}\"", count.example);
    text += "\n" + calls_text(count.calls, type_column);
  }
  if (counts.size() > table.most) {
    text += fmt::format("{:>14} more rows: --all shows them\n", counts.size() - table.most);
  }
  return text;
}

nlohmann::ordered_json json_of(std::vector<Count> counts, const CensusTable& table, Part part) {
  sort(counts, table.order);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Count& count : counts) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    if (part != Part::kPlaces) row["object_bytes"] = count.object_bytes;
    row["objects"] = count.objects;
    row["bytes"] = count.bytes;
    if (part != Part::kClasses) {
      row["type"] = nullptr;
      if (!count.type.empty()) row["type"] = count.type;
    }
    if (!count.example.empty()) row["example"] = count.example;
    if (table.grown) row["grown_objects"] = count.grown;
    if (part == Part::kPlaces) {
      if (table.grown) row["grown_bytes"] = count.grown_bytes;
      row["calls"] = calls_json(count.calls);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

void sort(std::vector<Count>& counts, CensusOrder order) {
  // What comes first is least.
  using Key = std::tuple<std::string, int64_t, int64_t>;
  const auto key = [order](const Count& count) -> Key {
    const auto bytes = static_cast<int64_t>(count.bytes);
    const auto size = static_cast<int64_t>(count.object_bytes);
    switch (order) {
      case CensusOrder::kObjects:
        return {"", -static_cast<int64_t>(count.objects), 0};
      case CensusOrder::kSize:
        return {"", size, 0};
      case CensusOrder::kType:
        return {count.type, size, 0};
      case CensusOrder::kGrown:
        return {"", -count.grown_bytes, -bytes};
      case CensusOrder::kBytes:
        break;
    }
    return {"", -bytes, 0};
  };
  std::stable_sort(counts.begin(), counts.end(),
                   [&](const Count& a, const Count& b) { return key(a) < key(b); });
}

std::string CensusTable::text(const Census& census) const {
  const uint64_t bytes = census.bytes();
  std::string text = part(*this, census.types, bytes, Part::kTypes);
  // Where no class has several types, the classes are the same rows.
  if (census.types.size() > census.classes.size()) {
    text += "\n" + part(*this, census.classes, bytes, Part::kClasses);
  }
  if (census.places.empty()) return text;
  return text +
         fmt::format("\nBy place, estimated from {} samples of the heap profile:\n\n",
                     count_text(census.samples)) +
         part(*this, census.places, bytes, Part::kPlaces);
}

nlohmann::ordered_json CensusTable::json(const Census& census) const {
  nlohmann::ordered_json all = {{"classes", json_of(census.classes, *this, Part::kClasses)},
                                {"types", json_of(census.types, *this, Part::kTypes)}};
  if (!census.places.empty()) all["places"] = json_of(census.places, *this, Part::kPlaces);
  return all;
}

}  // namespace pktmalloc
