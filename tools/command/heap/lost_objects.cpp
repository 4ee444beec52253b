// SPDX-License-Identifier: MIT
#include "tools/command/heap/lost_objects.h"

namespace pktmalloc {
namespace {

struct Object {
  const RemoteHeap::Slab* slab;  // nullptr: a sample
  uint32_t number;
};

class Graph {
 public:
  Graph(const RemoteHeap& heap, const HeapCopy& copy, const SampledObjects& sampled)
      : heap_(heap),
        copy_(copy),
        sampled_(sampled),
        units_(heap.units()),
        samples_(sampled.span()),
        seen_(numbers()) {}

  bool is_seen(const Object& object) const { return seen_[number(object)]; }

  // Calls visit(object) for the live object that the word points into.
  template <typename Visit>
  void follow(uint64_t word, Visit visit) const {
    if (word - samples_.begin < samples_.end - samples_.begin) {
      const SampledObject* const sample = sampled_.at(word);
      if (sample == nullptr) return;
      return visit(Object{nullptr, static_cast<uint32_t>(sample - sampled_.all().data())});
    }
    if (word - units_.begin >= units_.end - units_.begin) return;
    const RemoteHeap::Slab* const slab = heap_.slab_at(word);
    if (slab == nullptr) return;
    const SizeClass& c = heap_.size_class(slab->of);
    const uint32_t number = c.object_index(word - slab->start);
    if (number < c.objects_per_slab && heap_.is_live(*slab, number)) visit(Object{slab, number});
  }

  template <typename Visit>
  void each_target(const Object& object, Visit visit) const {
    const uint64_t* const words =
        object.slab == nullptr
            ? sampled_.words(sample(object))
            : copy_.words_at(object.slab->start + uint64_t{object.number} * bytes(object));
    for (uint64_t i = 0; i < bytes(object) / sizeof(uint64_t); ++i) follow(words[i], visit);
  }

  // Sees all that the word leads to and that was not seen yet; calls visit(object) for each.
  template <typename Visit>
  void see(uint64_t word, Visit visit) {
    follow(word, [&](const Object& object) { push(object); });
    while (!ahead_.empty()) {
      const Object object = ahead_.back();
      ahead_.pop_back();
      visit(object);
      each_target(object, [&](const Object& target) { push(target); });
    }
  }

  // Calls visit(object, address).
  template <typename Visit>
  void each_unseen(Visit visit) const {
    for (const RemoteHeap::Slab& slab : heap_.slabs()) {
      heap_.each_live(slab, [&](uint32_t number, uint64_t address) {
        if (!is_seen({&slab, number})) visit(Object{&slab, number}, address);
      });
    }
    for (uint32_t n = 0; n < sampled_.all().size(); ++n) {
      if (!is_seen({nullptr, n})) visit(Object{nullptr, n}, sampled_.all()[n].address);
    }
  }

  uint64_t bytes(const Object& object) const {
    return object.slab == nullptr ? sample(object).bytes
                                  : heap_.size_class(object.slab->of).object_bytes;
  }
  size_t number(const Object& object) const {
    return object.slab == nullptr ? heap_.numbers() + object.number
                                  : heap_.number(*object.slab, object.number);
  }
  size_t numbers() const { return heap_.numbers() + sampled_.all().size(); }

 private:
  const SampledObject& sample(const Object& object) const { return sampled_.all()[object.number]; }

  void push(const Object& object) {
    const auto seen = seen_[number(object)];
    if (seen) return;
    seen_[number(object)] = true;
    ahead_.push_back(object);
  }

  const RemoteHeap& heap_;
  const HeapCopy& copy_;
  const SampledObjects& sampled_;
  const RemoteHeap::Range units_, samples_;
  std::vector<bool> seen_;
  std::vector<Object> ahead_;
};

}  // namespace

std::vector<LostObject> find_lost(const RemoteHeap& heap, const HeapCopy& copy,
                                  const SampledObjects& sampled,
                                  const std::vector<uint64_t>& roots) {
  Graph graph(heap, copy, sampled);
  for (const uint64_t root : roots) graph.see(root, [](const Object&) {});

  std::vector<bool> pointed_at(graph.numbers());
  graph.each_unseen([&](const Object& object, uint64_t) {
    graph.each_target(object, [&](const Object& target) {
      if (graph.number(target) != graph.number(object)) pointed_at[graph.number(target)] = true;
    });
  });
  std::vector<LostObject> lost;
  const auto add = [&](const Object& first, uint64_t address) {
    LostObject one{first.slab, first.number, address};
    graph.see(address, [&](const Object& object) {
      if (graph.number(object) == graph.number(first)) return;
      ++one.hanging_objects;
      one.hanging_bytes += graph.bytes(object);
    });
    lost.push_back(one);
  };
  // In two steps: what hangs from an object that nobody points at may have a lower address.
  std::vector<std::pair<Object, uint64_t>> firsts;
  graph.each_unseen([&](const Object& object, uint64_t address) {
    if (!pointed_at[graph.number(object)]) firsts.emplace_back(object, address);
  });
  for (const auto& [object, address] : firsts) add(object, address);
  graph.each_unseen(add);  // circles
  return lost;
}

}  // namespace pktmalloc
