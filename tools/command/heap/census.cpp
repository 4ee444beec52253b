// SPDX-License-Identifier: MIT
#include "tools/command/heap/census.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "preload/formats/heap_profile.h"
#include "tools/command/heap/contents.h"
#include "tools/command/heap/object_heads.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kWordBytes = TypeNames::kWords * sizeof(uint64_t);
constexpr uint32_t kMostFront = 16;  // of nearly all objects: see RemoteHeap::program_bytes_at()

uint64_t sum_of(const std::vector<Count>& counts, uint64_t Count::*amount) {
  uint64_t sum = 0;
  for (const Count& count : counts) sum += count.*amount;
  return sum;
}

}  // namespace

uint64_t Census::objects() const { return sum_of(classes, &Count::objects); }
uint64_t Census::bytes() const { return sum_of(classes, &Count::bytes); }

namespace {

std::vector<TypeNames::Type> types_of(const RemoteHeap& heap, const SampledObjects& sampled,
                                      const RemoteMemory& memory, TypeNames& types) {
  std::vector<TypeNames::Type> all;
  for (const SampledObject& one : sampled.all()) {
    uint64_t words[TypeNames::kWords]{};
    const RemoteMemory::Piece piece{one.address, words, std::min<uint64_t>(one.bytes, kWordBytes)};
    memory.copy_all({&piece, 1});
    all.push_back(types.type_of(words, heap));
  }
  return all;
}

using TypesOfClasses = std::map<std::pair<unsigned, TypeNames::Type>, uint64_t>;

// How many samples of each class have a type; 0 is that of the others.
TypesOfClasses by_class(const RemoteHeap& heap, const SampledObjects& sampled,
                        const std::vector<TypeNames::Type>& types) {
  TypesOfClasses all;
  std::vector<uint64_t> left(heap.classes());
  for (unsigned of = 0; of < heap.classes(); ++of) left[of] = heap.outside(of);
  for (size_t i = 0; i < types.size(); ++i) {
    const unsigned of = sampled.all()[i].of;
    if (types[i] == TypeNames::kUnknown || of >= heap.classes() || left[of] == 0) continue;
    ++all[{of, types[i]}];
    --left[of];
  }
  for (unsigned of = 0; of < heap.classes(); ++of) all[{of, TypeNames::kUnknown}] = left[of];
  return all;
}

// What a place holds is of the types that its samples have.
std::vector<Count> by_place(const SampledObjects& sampled, const RemoteMemory& memory,
                            const std::vector<TypeNames::Type>& types, const TypeNames& names) {
  struct Samples {
    double objects = 0, bytes = 0;
  };
  std::map<uint32_t, Samples> places;
  std::map<std::pair<uint32_t, TypeNames::Type>, Samples> parts;
  for (size_t i = 0; i < types.size(); ++i) {
    const SampledObject& one = sampled.all()[i];
    for (Samples* samples : {&places[one.place], &parts[{one.place, types[i]}]}) {
      ++samples->objects;
      samples->bytes += static_cast<double>(one.bytes);
    }
  }
  std::vector<Count> counts;
  for (const auto& [key, part] : parts) {
    const auto [place, type] = key;
    const Samples& all = places[place];
    const Amount held = sampled.held(place, memory);
    Count count;
    count.type = names.name(type);
    count.place = place;
    count.objects = rounded(held.objects * part.objects / all.objects);
    count.bytes = all.bytes == 0 ? 0 : rounded(held.bytes * part.bytes / all.bytes);
    counts.push_back(std::move(count));
  }
  return counts;
}

}  // namespace

Census take_census(const RemoteHeap& heap, const SampledObjects& sampled,
                   const RemoteMemory& memory, TypeNames& types, bool contents) {
  // By class, then by type; the contents of objects without type by their kind.
  std::vector<std::vector<uint64_t>> objects(heap.classes());
  std::map<std::pair<unsigned, std::string>, Count> found;
  each_head(heap, memory, kMostFront + kWordBytes, [&](const ObjectHead& head) {
    const uint32_t at = heap.program_bytes_at(head.address);
    const uint32_t size = at < head.size ? head.size - at : 0;
    uint64_t words[TypeNames::kWords]{};
    memcpy(words, head.bytes + at, std::min(size, kWordBytes));
    const TypeNames::Type type = types.type_of(words, heap);
    if (type == TypeNames::kUnknown && contents) {
      const Contents told = contents_of(head.bytes + at, std::min(size, kWordBytes));
      if (*told.kind != '\0') {
        Count& count = found[{head.slab.of, told.kind}];
        if (count.objects++ == 0) count.example = told.example;
        return;
      }
    }
    std::vector<uint64_t>& of_class = objects[head.slab.of];
    if (of_class.size() <= type) of_class.resize(type + 1);
    ++of_class[type];
  });
  const std::vector<TypeNames::Type> sample_types = types_of(heap, sampled, memory, types);
  Census census;
  for (unsigned of = 0; of < heap.classes(); ++of) {
    for (TypeNames::Type type = 0; type < objects[of].size(); ++type) {
      if (objects[of][type] != 0) found[{of, types.name(type)}].objects += objects[of][type];
    }
  }
  for (const auto& [key, count] : by_class(heap, sampled, sample_types)) {
    const auto [of, type] = key;
    if (count != 0) found[{of, types.name(type)}].objects += count;
  }
  for (auto& [key, count] : found) {
    count.object_bytes = heap.size_class(key.first).object_bytes;
    count.bytes = count.objects * count.object_bytes;
    count.type = key.second;
    if (census.classes.empty() || census.classes.back().object_bytes != count.object_bytes) {
      census.classes.emplace_back().object_bytes = count.object_bytes;
    }
    census.classes.back().objects += count.objects;
    census.classes.back().bytes += count.bytes;
    census.types.push_back(std::move(count));
  }
  census.places = by_place(sampled, memory, sample_types, types);
  census.samples = sampled.all().size();
  return census;
}

namespace {

std::vector<Count> compared(const std::vector<Count>& before, std::vector<Count> now) {
  using Key = std::tuple<uint64_t, std::string, uint32_t>;
  const auto key_of = [](const Count& c) { return Key(c.object_bytes, c.type, c.place); };
  std::map<Key, Count> all;
  for (Count& count : now) {
    count.grown = static_cast<int64_t>(count.objects);
    count.grown_bytes = static_cast<int64_t>(count.bytes);
    const Key key = key_of(count);
    all[key] = std::move(count);
  }
  for (const Count& count : before) {
    const auto [at, is_gone] = all.try_emplace(key_of(count), count);
    Count& sum = at->second;
    if (is_gone) sum.objects = sum.bytes = 0;
    sum.grown -= static_cast<int64_t>(count.objects);
    sum.grown_bytes -= static_cast<int64_t>(count.bytes);
  }
  std::vector<Count> counts;
  for (auto& [key, count] : all) counts.push_back(std::move(count));
  return counts;
}

}  // namespace

Census compared(const Census& before, Census now) {
  now.classes = compared(before.classes, std::move(now.classes));
  now.types = compared(before.types, std::move(now.types));
  now.places = compared(before.places, std::move(now.places));
  return now;
}

}  // namespace pktmalloc
