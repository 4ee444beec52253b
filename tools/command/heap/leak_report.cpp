// SPDX-License-Identifier: MIT
#include "tools/command/heap/leak_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "tools/command/heap/contents.h"
#include "tools/command/heap/type_names.h"
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

bool LeakReport::is_certain() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.objects > row.ends_known; });
}

void LeakReport::suppress(const Suppressions& suppressions) {
  std::erase_if(rows, [&](const Row& row) {
    const bool matches =
        suppressions.match(row.type) ||
        std::any_of(row.calls.begin(), row.calls.end(), [&](const FrameName& call) {
          return suppressions.match(call.function) || suppressions.match(call.module);
        });
    if (!matches) return false;
    suppressed_objects += row.objects + row.hanging_objects;
    suppressed_bytes += row.bytes() + row.hanging_bytes;
    return true;
  });
}

std::string LeakReport::text(size_t most_rows) const {
  const std::string guarded =
      guarded_objects == 0
          ? ""
          : fmt::format("{:>14} more objects are guarded: nobody has looked at them\n",
                        count_text(guarded_objects));
  if (rows.empty()) return "nothing is lost\n" + guarded;
  uint64_t perhaps = 0;
  for (const Row& row : rows) perhaps += row.ends_known;
  std::string text =
      fmt::format("{} {} lost, {}{}\n", count_text(objects()),
                  objects() == 1 ? "object is" : "objects are", bytes_text(bytes()),
                  perhaps == 0 ? "" : fmt::format("; {} only perhaps", count_text(perhaps)));
  text += fmt::format("\n{:>14}{:>12}{:>14}{:>12}{:>9}  TYPE\n", "LOST", "BYTES", "WITH THEM",
                      "BYTES", "SIZE");
  for (size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const Row& row = rows[i];
    text += fmt::format("{:>14}{:>12}{:>14}{:>12}{:>9}  {}, for instance at {:#x}",
                        count_text(row.objects), bytes_text(row.bytes()),
                        count_text(row.hanging_objects), bytes_text(row.hanging_bytes),
                        row.object_bytes, row.type.empty() ? "-" : row.type, row.address);
    text += row.example.empty() ? "\n" : fmt::format(": {}\n", row.example);
    if (row.ends_known > 0) {
      text += fmt::format("{:>63}{} in use if a pointer to the next object is to their end\n", "",
                          count_text(row.ends_known));
    }
    text += calls_text(row.calls, 63);
  }
  if (rows.size() > most_rows) {
    text += fmt::format("{:>14} more rows: --all shows them\n", rows.size() - most_rows);
  }
  if (suppressed_objects > 0) {
    text += fmt::format("{:>14} more objects, {}, are suppressed\n", count_text(suppressed_objects),
                        bytes_text(suppressed_bytes));
  }
  return text + guarded;
}

nlohmann::ordered_json LeakReport::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json one = {{"object_bytes", row.object_bytes},
                                  {"type", nullptr},
                                  {"objects", row.objects},
                                  {"bytes", row.bytes()},
                                  {"objects_whose_end_is_known", row.ends_known},
                                  {"objects_with_them", row.hanging_objects},
                                  {"bytes_with_them", row.hanging_bytes},
                                  {"address", fmt::format("{:#x}", row.address)}};
    if (!row.type.empty()) one["type"] = row.type;
    if (!row.example.empty()) one["example"] = row.example;
    if (!row.calls.empty()) one["calls"] = calls_json(row.calls);
    all.push_back(std::move(one));
  }
  return all;
}

namespace {

// What the program has in an object.
struct Part {
  uint64_t object_bytes, address, bytes;
  const char* contents;
  uint32_t place;  // of a sample
};

Part part_of(const LostObject& lost, const RemoteHeap& heap, const HeapCopy& copy,
             const SampledObjects& sampled) {
  if (lost.slab == nullptr) {
    const SampledObject& one = sampled.all()[lost.object];
    const auto* const contents = reinterpret_cast<const char*>(sampled.words(one));
    return {one.bytes, one.address, one.bytes, contents, one.place};
  }
  const uint32_t object_bytes = heap.size_class(lost.slab->of).object_bytes;
  const auto* const contents = reinterpret_cast<const char*>(copy.words_at(lost.address));
  const uint32_t front = heap.program_bytes_at(lost.address);
  return {object_bytes, lost.address + front, object_bytes - front, contents + front, 0};
}

}  // namespace

LeakReport leak_report(const Image& image, const RemoteHeap& heap, const HeapCopy& copy,
                       const SampledObjects& sampled, const std::vector<LostObject>& lost,
                       bool contents) {
  TypeNames types(image);
  std::map<std::tuple<uint64_t, std::string, uint32_t>, LeakReport::Row> rows;
  for (const LostObject& one : lost) {
    const Part part = part_of(one, heap, copy, sampled);
    uint64_t words[TypeNames::kWords]{};
    const uint64_t size = std::min(sizeof words, part.bytes / sizeof *words * sizeof *words);
    memcpy(words, part.contents, size);
    const std::string& type = types.name(types.type_of(words, heap));
    LeakReport::Row& row = rows[{part.object_bytes, type, part.place}];
    if (row.objects++ == 0) {
      row.object_bytes = part.object_bytes;
      row.type = type;
      row.address = part.address;
      if (contents) {
        const Contents told = contents_of(part.contents, static_cast<uint32_t>(size));
        row.example = told.example.empty() ? told.kind : fmt::format("\"{}\"", told.example);
      }
    }
    row.ends_known += one.end_is_known ? 1 : 0;
    row.hanging_objects += one.hanging_objects;
    row.hanging_bytes += one.hanging_bytes;
  }
  LeakReport report;
  uint64_t outside = 0;
  for (unsigned of = 0; of < heap.classes(); ++of) outside += heap.outside(of);
  // The table of samples may be ahead of the counts.
  const auto samples = static_cast<uint64_t>(
      std::count_if(sampled.all().begin(), sampled.all().end(),
                    [&](const SampledObject& one) { return one.of < heap.classes(); }));
  report.guarded_objects = outside - std::min(outside, samples);
  std::vector<uint32_t> places;
  for (auto& [key, row] : rows) {
    report.rows.push_back(std::move(row));
    places.push_back(std::get<uint32_t>(key));
  }
  std::vector<Calls> calls = place_calls(places, image, sampled, true);
  for (size_t i = 0; i < calls.size(); ++i) report.rows[i].calls = std::move(calls[i]);
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const LeakReport::Row& a, const LeakReport::Row& b) {
                     return a.bytes() + a.hanging_bytes > b.bytes() + b.hanging_bytes;
                   });
  return report;
}

}  // namespace pktmalloc
