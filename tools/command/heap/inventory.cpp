// SPDX-License-Identifier: MIT
#include "tools/command/heap/inventory.h"

#include <utility>

namespace pktmalloc {

Inventory::Inventory(const Subject& subject, double most_ms, bool contents) {
  const Window& window = subject.window();
  const RemoteMemory& memory = subject.image().memory();
  RemoteHeap heap(window.heap, memory);
  look = subject.look(heap, most_ms);
  TypeNames types(subject.image());
  sampled_ = SampledObjects(window.profile, memory);
  census = take_census(heap, sampled_, memory, types, window.library, contents);
  subject.check_alive();
}

void Inventory::compare_with(const Inventory& before) {
  census = compared(before.census, std::move(census));
}

void Inventory::name_places(const Image& image) {
  std::vector<uint32_t> places;
  for (const Count& count : census.places) places.push_back(count.place);
  std::vector<Calls> calls = place_calls(places, image, sampled_);
  for (size_t i = 0; i < calls.size(); ++i) census.places[i].calls = std::move(calls[i]);
}

}  // namespace pktmalloc
