// SPDX-License-Identifier: MIT
#include "tools/command/heap/census_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

std::string change_text(int64_t change, std::string (*text)(uint64_t)) {
  if (change == 0) return "=";
  return change > 0 ? "+" + text(static_cast<uint64_t>(change))
                    : "-" + text(static_cast<uint64_t>(-change));
}

std::string size_text(uint64_t bytes) { return bytes_text(bytes); }

// Of types in one part, of classes in the other.
std::string part(const CensusTable& table, std::vector<Count> counts, uint64_t all_bytes,
                 bool types) {
  if (table.grown) {
    std::erase_if(counts, [](const Count& count) { return count.grown == 0; });
  }
  sort(counts, table.order);
  std::string text = fmt::format("{:>14}{:>12}{:>9}", "OBJECTS", "BYTES", "SHARE");
  if (table.grown) text += fmt::format("{:>14}{:>12}", "GROWN BY", "BYTES");
  text += fmt::format("{:>9}{}\n", "SIZE", types ? "  TYPE" : "");
  for (size_t i = 0; i < std::min(counts.size(), table.most); ++i) {
    const Count& count = counts[i];
    text += fmt::format("{:>14}{:>12}{:>9}", count_text(count.objects), bytes_text(count.bytes()),
                        share_text(count.bytes(), all_bytes));
    if (table.grown) {
      text += fmt::format("{:>14}{:>12}", change_text(count.grown, count_text),
                          change_text(count.grown_bytes(), size_text));
    }
    text += fmt::format("{:>9}", count.object_bytes);
    if (types) text += "  " + (count.type.empty() ? "-" : count.type);
    if (!count.example.empty()) text += fmt::format(", for instance \"{}\"", count.example);
    text += "\n";
  }
  if (counts.size() > table.most) {
    text += fmt::format("{:>14} more rows: --all shows them\n", counts.size() - table.most);
  }
  return text;
}

}  // namespace

void sort(std::vector<Count>& counts, CensusOrder order) {
  const auto key = [order](const Count& count) {
    // What comes first is least.
    const auto bytes = static_cast<int64_t>(count.bytes());
    const auto size = static_cast<int64_t>(count.object_bytes);
    switch (order) {
      case CensusOrder::kBytes:
        return std::tuple(std::string(), -bytes);
      case CensusOrder::kObjects:
        return std::tuple(std::string(), -static_cast<int64_t>(count.objects));
      case CensusOrder::kSize:
        return std::tuple(std::string(), size);
      case CensusOrder::kType:
        return std::tuple(count.type, size);
      case CensusOrder::kGrown:
        return std::tuple(std::string(), -count.grown_bytes());
    }
    return std::tuple(std::string(), int64_t{0});
  };
  std::stable_sort(counts.begin(), counts.end(),
                   [&](const Count& a, const Count& b) { return key(a) < key(b); });
}

std::string CensusTable::text(const Census& census) const {
  const uint64_t bytes = census.bytes();
  return part(*this, census.classes, bytes, false) + "\n" + part(*this, census.types, bytes, true);
}

}  // namespace pktmalloc
