// SPDX-License-Identifier: MIT
#include "tools/command/heap/sampled_objects.h"

#include <algorithm>

#include "preload/recording/profile.h"
#include "preload/recording/sample_table.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kSamplesMost = uint64_t{1} << 28;  // a table that makes no sense has more
constexpr uint64_t kWord = sizeof(uint64_t);

// The front of a GrowingArray.
struct Elements {
  uint64_t first, count;
};

// Of no place, if it makes no sense.
ProfileSums sums_of(uint32_t place, uint64_t sums, const RemoteMemory& memory) {
  const auto elements = memory.load<Elements>(sums);
  if (place >= elements.count) return {};
  return memory.load<ProfileSums>(elements.first + place * sizeof(ProfileSums));
}

uint64_t words_of(const SampledObject& object) { return object.bytes / kWord; }

}  // namespace

SampledObjects::SampledObjects(const ProfileWindow& window, const RemoteMemory& memory)
    : window_(window) {
  if (window.samples == 0) return;
  const auto elements = memory.load<Elements>(window.samples);
  if (elements.first == 0 || elements.count > kSamplesMost) return;
  std::vector<SampleTable::Entry> entries(elements.count);
  const uint64_t bytes = elements.count * sizeof entries[0];
  const RemoteMemory::Piece piece{elements.first, entries.data(), bytes};
  memory.copy_all({&piece, 1});
  table_ = {elements.first, elements.first + bytes};
  for (const SampleTable::Entry& entry : entries) {
    if (entry.address == 0) continue;
    all_.push_back({entry.address, entry.sample.bytes, entry.sample.owner,
                    static_cast<unsigned>(entry.sample.id) - 1, 0});
  }
  std::sort(all_.begin(), all_.end(),
            [](const SampledObject& a, const SampledObject& b) { return a.address < b.address; });
}

void SampledObjects::copy_contents(const RemoteMemory& memory) {
  uint64_t count = 0;
  for (SampledObject& object : all_) {
    object.words_at = count;
    count += words_of(object);
  }
  words_.resize(count + 1);
  std::vector<RemoteMemory::Piece> pieces;
  for (const SampledObject& object : all_) {
    pieces.push_back({object.address, &words_[object.words_at], words_of(object) * kWord});
  }
  memory.copy_all(pieces);
}

RemoteHeap::Range SampledObjects::span() const {
  if (all_.empty()) return {0, 0};
  return {all_.front().address, all_.back().address + all_.back().bytes + 1};
}

// Its end counts: the next allocator has words of its own between two.
const SampledObject* SampledObjects::at(uint64_t address) const {
  auto after = std::upper_bound(
      all_.begin(), all_.end(), address,
      [](uint64_t wanted, const SampledObject& object) { return wanted < object.address; });
  if (after == all_.begin()) return nullptr;
  --after;
  return address - after->address <= after->bytes ? &*after : nullptr;
}

std::vector<RemoteHeap::Range> SampledObjects::own_memory() const {
  std::vector<RemoteHeap::Range> ranges = {table_};
  for (const SampledObject& object : all_) {
    ranges.push_back({object.address, object.address + words_of(object) * kWord});
  }
  return ranges;
}

Amount SampledObjects::held(uint32_t place, const RemoteMemory& memory) const {
  return sums_of(place, window_.sums, memory).live;
}

std::vector<uint64_t> SampledObjects::frames(uint32_t place, const RemoteMemory& memory) const {
  const auto addresses_of = [&](uint64_t id) {
    const uint64_t stack = memory.load<uint64_t>(window_.stacks) + id * kStackUnit;
    const auto head = memory.load<Stack>(stack);
    std::vector<Frame> frames(std::min<size_t>(head.count, kMostFrames));
    const RemoteMemory::Piece piece{stack + offsetof(Stack, frames), frames.data(),
                                    frames.size() * sizeof(Frame)};
    memory.copy_all({&piece, 1});
    std::vector<uint64_t> addresses;
    for (const Frame& frame : frames) addresses.push_back(frame.pc);
    return addresses;
  };
  const StackId id = sums_of(place, window_.sums, memory).stack;
  if (id == 0) return {};
  std::vector<uint64_t> found = addresses_of(id);
  // Of threads that are told apart, the number of the calls' stack and the thread.
  if (found.size() > 1 && is_thread(found[1])) return addresses_of(found[0]);
  return found;
}

}  // namespace pktmalloc
