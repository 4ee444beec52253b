// SPDX-License-Identifier: MIT
#include "tools/command/heap/census.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tools/command/heap/contents.h"
#include "tools/command/heap/dress.h"
#include "tools/command/heap/object_heads.h"

namespace pktmalloc {
namespace {

constexpr uint32_t kWordBytes = TypeNames::kWords * sizeof(uint64_t);

}  // namespace

uint64_t Census::objects() const {
  uint64_t sum = 0;
  for (const Count& count : classes) sum += count.objects;
  return sum;
}

uint64_t Census::bytes() const {
  uint64_t sum = 0;
  for (const Count& count : classes) sum += count.bytes();
  return sum;
}

namespace {

// How many samples of each class have a type; 0 is that of the others.
std::map<std::pair<unsigned, TypeNames::Type>, uint64_t> types_of(const RemoteHeap& heap,
                                                                  const SampledObjects& sampled,
                                                                  const RemoteMemory& memory,
                                                                  TypeNames& types) {
  std::map<std::pair<unsigned, TypeNames::Type>, uint64_t> all;
  std::vector<uint64_t> left(heap.classes());
  for (unsigned of = 0; of < heap.classes(); ++of) left[of] = heap.outside(of);
  for (const SampledObject& one : sampled.all()) {
    if (one.of >= heap.classes() || left[one.of] == 0) continue;
    uint64_t words[TypeNames::kWords]{};
    const RemoteMemory::Piece piece{one.address, words, std::min<uint64_t>(one.bytes, kWordBytes)};
    memory.copy_all({&piece, 1});
    const TypeNames::Type type = types.type_of(words, heap);
    if (type == TypeNames::kUnknown) continue;
    ++all[{one.of, type}];
    --left[one.of];
  }
  for (unsigned of = 0; of < heap.classes(); ++of) all[{of, TypeNames::kUnknown}] = left[of];
  return all;
}

}  // namespace

Census take_census(RemoteHeap& heap, const SampledObjects& sampled, const RemoteMemory& memory,
                   TypeNames& types, LibraryKind kind, bool contents) {
  // By class, then by type; the contents of objects without type by their kind.
  std::vector<std::vector<uint64_t>> objects(heap.classes());
  std::map<std::pair<unsigned, std::string>, Count> found;
  each_head(heap, memory, kDressBytes + kWordBytes, [&](const ObjectHead& head) {
    const uint32_t object_bytes = heap.size_class(head.slab.of).object_bytes;
    const std::optional<uint32_t> at = program_bytes_at(kind, head, memory, object_bytes);
    if (!at) return heap.forget(head.slab, head.object);
    const uint32_t size = *at < head.size ? head.size - *at : 0;
    uint64_t words[TypeNames::kWords]{};
    memcpy(words, head.bytes + *at, std::min(size, kWordBytes));
    const TypeNames::Type type = types.type_of(words, heap);
    if (type == TypeNames::kUnknown && contents) {
      const Contents told = contents_of(head.bytes + *at, std::min(size, kWordBytes));
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
  Census census;
  for (unsigned of = 0; of < heap.classes(); ++of) {
    for (TypeNames::Type type = 0; type < objects[of].size(); ++type) {
      if (objects[of][type] != 0) found[{of, types.name(type)}].objects += objects[of][type];
    }
  }
  for (const auto& [key, count] : types_of(heap, sampled, memory, types)) {
    const auto [of, type] = key;
    if (count != 0) found[{of, types.name(type)}].objects += count;
  }
  for (auto& [key, count] : found) {
    count.object_bytes = heap.size_class(key.first).object_bytes;
    count.type = key.second;
    if (census.classes.empty() || census.classes.back().object_bytes != count.object_bytes) {
      census.classes.push_back({count.object_bytes, "", 0, 0, ""});
    }
    census.classes.back().objects += count.objects;
    census.types.push_back(std::move(count));
  }
  return census;
}

namespace {

std::vector<Count> compared(const std::vector<Count>& before, const std::vector<Count>& now) {
  std::map<std::pair<uint64_t, std::string>, Count> all;
  for (const Count& count : now) {
    Count& sum = all[{count.object_bytes, count.type}] = count;
    sum.grown = static_cast<int64_t>(count.objects);
  }
  for (const Count& count : before) {
    Count& sum = all.try_emplace({count.object_bytes, count.type},
                                 Count{count.object_bytes, count.type, 0, 0, ""})
                     .first->second;
    sum.grown -= static_cast<int64_t>(count.objects);
  }
  std::vector<Count> counts;
  for (auto& [key, count] : all) counts.push_back(std::move(count));
  return counts;
}

}  // namespace

Census compared(const Census& before, const Census& now) {
  return {compared(before.classes, now.classes), compared(before.types, now.types)};
}

}  // namespace pktmalloc
