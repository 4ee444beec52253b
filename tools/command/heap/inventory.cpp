// SPDX-License-Identifier: MIT
#include "tools/command/heap/inventory.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace pktmalloc {

Inventory::Inventory(const Subject& subject, double most_ms, bool contents) {
  const Window& window = subject.window();
  const RemoteMemory& memory = subject.image().memory();
  RemoteHeap heap(window, memory);
  look = subject.look(heap, most_ms);
  TypeNames types(subject.image());
  sampled_ = SampledObjects(window.profile, memory);
  census = take_census(heap, sampled_, memory, types, contents);
  subject.check_alive();
}

void Inventory::compare_with(const Inventory& before) {
  census = compared(before.census, std::move(census));
}

void Inventory::name_places(const Image& image, bool lines) {
  std::vector<uint32_t> places;
  for (const Count& count : census.places) places.push_back(count.place);
  std::vector<Calls> calls = place_calls(places, image, sampled_, lines);
  for (size_t i = 0; i < calls.size(); ++i) census.places[i].calls = std::move(calls[i]);
}

std::string Inventory::json_text(const Subject& subject, const CensusTable& table) const {
  using Json = nlohmann::ordered_json;
  Json all = {{"pid", subject.pid()},
              {"program", subject.window().program},
              {"exact", look.exact()},
              {"stopped_ms", look.stopped ? look.milliseconds : 0},
              {"allocated_meanwhile", look.meanwhile},
              {"objects", census.objects()},
              {"bytes", census.bytes()}};
  all.update(table.json(census));
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pktmalloc
