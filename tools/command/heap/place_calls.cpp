// SPDX-License-Identifier: MIT
#include "tools/command/heap/place_calls.h"

#include <fmt/core.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "preload/formats/heap_profile.h"
#include "tools/command/profile/profile_table.h"
#include "tools/command/profile/symbolizer.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {
namespace {

std::span<const FrameName> innermost(const Calls& calls) {
  constexpr size_t kMost = 8;
  return {calls.data(), std::min(calls.size(), kMost)};
}

}  // namespace

std::vector<Calls> place_calls(const std::vector<uint32_t>& places, const Image& image,
                               const SampledObjects& sampled, bool lines) {
  HeapProfile profile;
  profile.schema = kProfileSchema;
  for (const uint32_t place : places) {
    if (place == 0) continue;
    profile.places.push_back({sampled.frames(place, image.memory()), {}, false, ""});
  }
  std::vector<Calls> all(places.size());
  if (profile.places.empty()) return all;
  struct File {
    std::string id;
    std::optional<FoundFile> found;
  };
  std::map<std::string, File> files;  // are there until all are named
  for (Mapping& m : image.mappings()) {
    if (m.path.empty()) continue;
    const auto [at, first] = files.try_emplace(m.path);
    File& file = at->second;
    if (first) file.id = build_id_at(m.start, image.memory());
    if (!m.executable) continue;
    if (!file.found) file.found.emplace(image.file(m.path));
    profile.mappings.push_back({std::move(m), file.id, file.found->path()});
  }
  Symbolizer symbolizer(lines, true);
  symbolizer.prepare(profile);
  auto next = profile.places.begin();
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] != 0) all[i] = symbolizer.names(profile, *next++);
  }
  return all;
}

std::string calls_text(const Calls& calls, unsigned column) {
  std::string text;
  for (const FrameName& call : innermost(calls)) {
    text += fmt::format("{:>{}}{}\n", "", column, frame_text(call));
  }
  return text;
}

nlohmann::ordered_json calls_json(const Calls& calls) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const FrameName& call : innermost(calls)) all.push_back(frame_text(call));
  return all;
}

}  // namespace pktmalloc
