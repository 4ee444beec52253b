// SPDX-License-Identifier: MIT
#include "tools/command/heap/leak_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/command/heap/contents.h"
#include "tools/command/heap/dress.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {

uint64_t LeakReport::objects() const {
  uint64_t sum = 0;
  for (const Row& row : rows) sum += row.objects + row.hanging_objects;
  return sum;
}

uint64_t LeakReport::bytes() const {
  uint64_t sum = 0;
  for (const Row& row : rows) sum += row.bytes() + row.hanging_bytes;
  return sum;
}

void LeakReport::suppress(const Suppressions& suppressions) {
  std::erase_if(rows, [&](const Row& row) {
    if (!suppressions.match(row.type)) return false;
    suppressed_objects += row.objects + row.hanging_objects;
    suppressed_bytes += row.bytes() + row.hanging_bytes;
    return true;
  });
}

std::string LeakReport::text(size_t most_rows) const {
  if (rows.empty()) return "nothing is lost\n";
  std::string text = fmt::format("{} objects are lost, {}\n\n{:>14}{:>12}{:>14}{:>12}{:>9}  TYPE\n",
                                 count_text(objects()), bytes_text(bytes()), "LOST", "BYTES",
                                 "WITH THEM", "BYTES", "SIZE");
  for (size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const Row& row = rows[i];
    text += fmt::format("{:>14}{:>12}{:>14}{:>12}{:>9}  {}, for instance at {:#x}",
                        count_text(row.objects), bytes_text(row.bytes()),
                        count_text(row.hanging_objects), bytes_text(row.hanging_bytes),
                        row.object_bytes, row.type.empty() ? "-" : row.type, row.address);
    text += row.example.empty() ? "\n" : fmt::format(": {}\n", row.example);
  }
  if (rows.size() > most_rows) {
    text += fmt::format("{:>14} more rows: --all shows them\n", rows.size() - most_rows);
  }
  if (suppressed_objects > 0) {
    text += fmt::format("{:>14} more objects, {}, are suppressed\n", count_text(suppressed_objects),
                        bytes_text(suppressed_bytes));
  }
  return text;
}

nlohmann::ordered_json LeakReport::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json one = {{"object_bytes", row.object_bytes},
                                  {"type", nullptr},
                                  {"objects", row.objects},
                                  {"bytes", row.bytes()},
                                  {"objects_with_them", row.hanging_objects},
                                  {"bytes_with_them", row.hanging_bytes},
                                  {"address", fmt::format("{:#x}", row.address)}};
    if (!row.type.empty()) one["type"] = row.type;
    if (!row.example.empty()) one["example"] = row.example;
    all.push_back(std::move(one));
  }
  return all;
}

LeakReport leak_report(const RemoteHeap& heap, const HeapCopy& copy, TypeNames& types,
                       LibraryKind kind, const std::vector<LostObject>& lost, bool contents) {
  std::map<std::pair<uint64_t, std::string>, LeakReport::Row> rows;
  for (const LostObject& one : lost) {
    const uint32_t object_bytes = heap.size_class(one.slab->of).object_bytes;
    const auto* const bytes = reinterpret_cast<const char*>(copy.words_at(one.address));
    const ObjectHead head{*one.slab, one.object, one.address, bytes, object_bytes};
    const uint32_t front = program_bytes_at(kind, head, copy, object_bytes).value_or(0);
    const uint32_t size =
        std::min<uint32_t>(TypeNames::kWords * sizeof(uint64_t), object_bytes - front);
    uint64_t words[TypeNames::kWords]{};
    memcpy(words, bytes + front, size);
    const std::string& type = types.name(types.type_of(words, heap));
    LeakReport::Row& row = rows[{object_bytes, type}];
    if (row.objects++ == 0) {
      row.object_bytes = object_bytes;
      row.type = type;
      row.address = one.address + front;
      if (contents) {
        const Contents told = contents_of(bytes + front, size);
        row.example = told.example.empty() ? told.kind : fmt::format("\"{}\"", told.example);
      }
    }
    row.hanging_objects += one.hanging_objects;
    row.hanging_bytes += one.hanging_bytes;
  }
  LeakReport report;
  for (auto& [key, row] : rows) report.rows.push_back(std::move(row));
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const LeakReport::Row& a, const LeakReport::Row& b) {
                     return a.bytes() + a.hanging_bytes > b.bytes() + b.hanging_bytes;
                   });
  return report;
}

}  // namespace pktmalloc
