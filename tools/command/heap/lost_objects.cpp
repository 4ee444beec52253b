// SPDX-License-Identifier: MIT
#include "tools/command/heap/lost_objects.h"

#include <deque>
#include <optional>
#include <unordered_map>

namespace pktmalloc {
namespace {

struct Object {
  const RemoteHeap::Slab* slab = nullptr;  // nullptr: a sample
  uint32_t number = 0;
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

  // Calls visit(object) for the live object that the word points into; or to whose end, where none
  // begins there that is live or was.
  template <typename Visit>
  void follow(uint64_t word, Visit visit) const {
    if (word - samples_.begin < samples_.end - samples_.begin) {
      const SampledObject* const sample = sampled_.at(word);
      if (sample != nullptr) {
        return visit(Object{nullptr, static_cast<uint32_t>(sample - sampled_.all().data())});
      }
    }
    if (word - units_.begin > units_.end - units_.begin) return;
    Object object = object_at(word);
    if (object.slab == nullptr) {
      object = object_at(word - 1);
      if (object.slab == nullptr || address(object) + bytes(object) != word) return;
    }
    if (heap_.is_live(*object.slab, object.number)) visit(object);
  }

  template <typename Visit>
  void each_word(const Object& object, Visit visit) const {
    const uint64_t* const all = words(object);
    const uint64_t count = bytes(object) / sizeof *all;
    for (uint64_t i = 0; i < count; ++i) visit(all[i]);
  }

  template <typename Visit>
  void each_target(const Object& object, Visit visit) const {
    each_word(object, [&](uint64_t word) { follow(word, visit); });
  }

  // What the word leads to is to be seen.
  void note(uint64_t word) {
    follow(word, [&](const Object& object) { push(object); });
  }
  // Sees all that is to be seen and was not yet, and what that leads to; calls visit(object) for
  // each.
  template <typename Visit>
  void see(Visit visit) {
    while (const std::optional<Object> object = next()) {
      visit(*object);
      each_target(*object, [&](const Object& target) { push(target); });
    }
  }

  // Of unseen objects those to whose end a word points that was followed: another begins there, or
  // did before it was freed, and the address may be meant for either.
  std::vector<bool> with_known_ends(const std::vector<uint64_t>& roots) const {
    std::unordered_map<uint64_t, size_t> ends;  // numbers of the objects
    std::vector<bool> may_be_end(1 << 16);      // most words are told by one bit to be none
    const auto bit_of = [](uint64_t address) { return address / 16 % (1 << 16); };
    each_unseen([&](const Object& object, uint64_t address) {
      const uint64_t end = address + bytes(object);
      if (object.slab == nullptr) return;
      ends[end] = number(object);
      may_be_end[bit_of(end)] = true;
    });
    std::vector<bool> known(numbers());
    const auto look = [&](uint64_t word) {
      if (!may_be_end[bit_of(word)]) return;
      if (const auto end = ends.find(word); end != ends.end()) known[end->second] = true;
    };
    if (ends.empty()) return known;
    for (const uint64_t root : roots) look(root);
    each_seen([&](const Object& object) { each_word(object, look); });
    return known;
  }

  // Calls visit(object, address).
  template <typename Visit>
  void each_unseen(Visit visit) const {
    each([&](const Object& object, uint64_t address) {
      if (!is_seen(object)) visit(object, address);
    });
  }
  template <typename Visit>
  void each_seen(Visit visit) const {
    each([&](const Object& object, uint64_t) {
      if (is_seen(object)) visit(object);
    });
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
  template <typename Visit>
  void each(Visit visit) const {
    for (const RemoteHeap::Slab& slab : heap_.slabs()) {
      heap_.each_live(slab, [&](uint32_t number, uint64_t address) {
        visit(Object{&slab, number}, address);
      });
    }
    for (uint32_t n = 0; n < sampled_.all().size(); ++n) {
      visit(Object{nullptr, n}, sampled_.all()[n].address);
    }
  }
  // In a slab, live or free; else none.
  Object object_at(uint64_t word) const {
    const RemoteHeap::Slab* const slab = heap_.slab_at(word);
    if (slab == nullptr) return {};
    const SizeClass& c = heap_.size_class(slab->of);
    const uint32_t number = c.object_index(word - slab->start);
    return number < c.objects_per_slab ? Object{slab, number} : Object{};
  }
  uint64_t address(const Object& object) const {
    return object.slab->start + uint64_t{object.number} * bytes(object);
  }
  const SampledObject& sample(const Object& object) const { return sampled_.all()[object.number]; }

  void push(const Object& object) {
    const auto seen = seen_[number(object)];
    if (seen) return;
    seen_[number(object)] = true;
    ahead_.push_back(object);
  }
  const uint64_t* words(const Object& object) const {
    return object.slab == nullptr ? sampled_.words(sample(object))
                                  : copy_.words_at(address(object));
  }
  // The first words of those that come next are on their way from memory meanwhile.
  std::optional<Object> next() {
    while (coming_.size() < kComing && !ahead_.empty()) {
      coming_.push_back(ahead_.back());
      __builtin_prefetch(words(ahead_.back()));
      ahead_.pop_back();
    }
    if (coming_.empty()) return std::nullopt;
    const Object object = coming_.front();
    coming_.pop_front();
    return object;
  }

  const RemoteHeap& heap_;
  const HeapCopy& copy_;
  const SampledObjects& sampled_;
  const RemoteHeap::Range units_, samples_;
  std::vector<bool> seen_;
  std::vector<Object> ahead_;
  static constexpr size_t kComing = 16;
  std::deque<Object> coming_;
};

}  // namespace

std::vector<LostObject> find_lost(const RemoteHeap& heap, const HeapCopy& copy,
                                  const SampledObjects& sampled,
                                  const std::vector<uint64_t>& roots) {
  Graph graph(heap, copy, sampled);
  for (const uint64_t root : roots) graph.note(root);
  graph.see([](const Object&) {});

  bool any = false;
  graph.each_unseen([&](const Object&, uint64_t) { any = true; });
  if (!any) return {};
  const std::vector<bool> known_ends = graph.with_known_ends(roots);
  std::vector<LostObject> lost;
  const auto add = [&](const Object& first, uint64_t address) {
    LostObject one{first.slab, first.number, address, known_ends[graph.number(first)]};
    graph.note(address);
    graph.see([&](const Object& object) {
      if (graph.number(object) == graph.number(first)) return;
      ++one.hanging_objects;
      one.hanging_bytes += graph.bytes(object);
    });
    lost.push_back(one);
  };
  std::vector<bool> pointed_at(graph.numbers());
  graph.each_unseen([&](const Object& object, uint64_t) {
    graph.each_target(object, [&](const Object& target) {
      if (graph.number(target) != graph.number(object)) pointed_at[graph.number(target)] = true;
    });
  });
  // In two steps: what hangs from an object that nobody points at may have a lower address.
  std::vector<std::pair<Object, uint64_t>> firsts;
  graph.each_unseen([&](const Object& object, uint64_t address) {
    if (!pointed_at[graph.number(object)]) firsts.emplace_back(object, address);
  });
  for (const auto& [object, address] : firsts) add(object, address);
  // Circles: from what is only perhaps lost hangs all that is not lost if it is not.
  graph.each_unseen([&](const Object& object, uint64_t address) {
    if (known_ends[graph.number(object)]) add(object, address);
  });
  graph.each_unseen(add);
  return lost;
}

}  // namespace pktmalloc
