// SPDX-License-Identifier: MIT
#include "tools/command/heap/remote_heap.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "preload/checked/object.h"
#include "tools/command/failure.h"
#include "tools/command/live/remote_cache.h"

namespace pktmalloc {
namespace {

constexpr unsigned kUnitShift = RemoteHeap::kUnitShift;
constexpr uint64_t kUnit = uint64_t{1} << kUnitShift;
constexpr uint32_t kNone = SlabPool::kNone;
// More than any heap has; a window that makes no sense may say anything.
constexpr uint64_t kUnitsMost = uint64_t{1} << 24;
// A free object takes at most half of its bytes in a magazine, but for a few.
constexpr uint64_t kMagazinesLeast = uint64_t{16} << 20;

}  // namespace

RemoteHeap::RemoteHeap(const Window& all, const RemoteMemory& memory)
    : window_(all.heap), kind_(all.library), memory_(memory), outside_(window_.classes) {
  const HeapWindow& window = window_;
  const auto require = [](bool sense) {
    if (!sense) throw Failure("the addresses that the process tells of its heap make no sense");
  };
  if (window.classes == 0) return;  // nothing is pooled
  for (unsigned i = 0; i < window.classes; ++i) {
    const uint64_t bytes = window.object_bytes[i];
    require(bytes >= ClassTable::kSmallStep && bytes <= ClassTable::kMediumLimit);
    classes_.push_back(ClassTable::describe(bytes, kUnitShift));
    require(window.slab_bytes[i] == uint64_t{classes_[i].units} << kUnitShift);
  }
  require(window.units - window.map < kUnitsMost * kUnit && window.chapter_bytes >= 64 &&
          window.chapter_bytes <= kUnit);
  first_unit_ = static_cast<uint32_t>((window.units - window.map) >> kUnitShift);
  depots_ = std::make_unique<ShardedStack[]>(window.classes);
  mails_ = std::make_unique<Mail[]>(kMails);
}

namespace {

uint64_t top_of(uint64_t magazine, uint64_t rounds) {
  return magazine + sizeof(Magazine) + rounds * sizeof(uintptr_t);
}

}  // namespace

bool RemoteHeap::copy(bool anyhow) {
  if (window_.classes == 0) return true;
  uint64_t used = 0, magazine_bytes = 0, first_cache = 0, cache_bytes = 0;
  uint32_t ageing = 0;
  std::vector<uint64_t> direct(window_.classes);
  std::vector<AreaStatistics> areas(window_.classes);
  const size_t words = window_.classes * sizeof(uint64_t);
  std::vector<RemoteMemory::Piece> counters = {
      {window_.pool + offsetof(SlabPool::Counts, used), &used, sizeof used},
      {window_.magazine_pool + offsetof(SlabPool::Counts, used), &magazine_bytes, sizeof used},
      {window_.caches, &first_cache, sizeof first_cache},
      {window_.cache_committed_bytes, &cache_bytes, sizeof cache_bytes},
      {window_.ageing, &ageing, sizeof ageing},
      {window_.outside, outside_.data(), words},
      {window_.direct_allocs, direct.data(), words},
      {window_.depots, depots_.get(), window_.classes * sizeof(ShardedStack)},
      {window_.mails, mails_.get(), kMails * sizeof(Mail)},
  };
  for (unsigned i = 0; i < window_.classes; ++i) {
    counters.push_back({window_.areas[i], &areas[i], sizeof areas[i]});
  }
  memory_.copy_all(counters);
  allocated_ = 0;
  for (const uint64_t objects : direct) allocated_ += objects;
  const bool quiet = copy_caches(first_cache, cache_bytes) && ageing == 0;
  if (!quiet && !anyhow) return false;
  copy_marks();
  copy_map(std::min(used >> kUnitShift, kUnitsMost));

  // No slab of a class changes without a change of its counts.
  std::vector<bool> changed(window_.classes, true);
  for (unsigned i = 0; i < areas_.size(); ++i) {
    changed[i] = memcmp(&areas[i], &areas_[i], sizeof areas[i]) != 0;
  }
  areas_ = std::move(areas);
  copy_records(changed);
  std::vector<uint64_t> heads;
  for (unsigned i = 0; i < window_.classes; ++i) {
    for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
      heads.push_back(depots_[i].head(home));
      each_in_mail(i, home, [&](Mail::Word word) {
        heads.push_back(reinterpret_cast<uint64_t>(Mail::magazine(word)));
      });
    }
  }
  copy_magazines(std::min(magazine_bytes, map_.size() * kUnit / 2 + kMagazinesLeast),
                 heads != heads_);
  heads_ = std::move(heads);
  copy_states();
  return true;
}

void RemoteHeap::copy_map(uint64_t units) {
  map_.resize(units);
  const RemoteMemory::Piece map{window_.map + first_unit_ * sizeof(SlabPool::Entry), map_.data(),
                                units * sizeof(SlabPool::Entry)};
  if (memory_.copy({&map, 1}) == 0) map_.clear();
}

// In each chapter, of each kind of record, from the first one that changed to the last.
void RemoteHeap::copy_records(const std::vector<bool>& changed) {
  const uint64_t first_chapter = first_unit_ / 64;
  records_.resize(((first_unit_ + map_.size() + 63) / 64 - first_chapter) * window_.chapter_bytes);
  struct Stretch {
    size_t begin = SIZE_MAX, end = 0;
  };
  std::vector<RemoteMemory::Piece> pieces;
  Stretch stretches[3];
  for (uint32_t n = 0; n < map_.size(); ++n) {
    const unsigned owner = map_[n].owner;
    if (owner != 0 && owner <= window_.classes && map_[n].back == 0 && changed[owner - 1]) {
      const uint32_t objects = classes_[owner - 1].objects_per_slab;
      Stretch& stretch = stretches[SlabPool::record_kind(objects)];
      const size_t at = record_at(owner - 1, n);
      stretch.begin = std::min(stretch.begin, at);
      stretch.end = at + offsetof(SlabArea::Record, bits) + (objects + 63) / 64 * sizeof(uint64_t);
    }
    if ((first_unit_ + n) % 64 != 63 && n + 1 != map_.size()) continue;
    for (Stretch& stretch : stretches) {
      if (stretch.begin < stretch.end && stretch.end <= records_.size()) {
        pieces.push_back({window_.records + first_chapter * window_.chapter_bytes + stretch.begin,
                          &records_[stretch.begin], stretch.end - stretch.begin});
      }
      stretch = {};
    }
  }
  memory_.copy_all(pieces);
}

size_t RemoteHeap::record_at(unsigned of, uint32_t n) const {
  return SlabPool::record_at(SlabPool::record_kind(classes_[of].objects_per_slab), first_unit_ + n,
                             window_.chapter_bytes) -
         first_unit_ / 64 * window_.chapter_bytes;
}

// Those that threads hold change at any time.
void RemoteHeap::copy_magazines(uint64_t bytes, bool changed) {
  changed = changed || bytes != magazines_.size();
  magazines_.resize(bytes);
  std::vector<RemoteMemory::Piece> pieces;
  const auto add = [&](uint64_t at, uint64_t size) {
    if (at < bytes) {
      pieces.push_back({window_.magazine_units + at, &magazines_[at], std::min(size, bytes - at)});
    }
  };
  for (uint64_t at = 0; changed && at < bytes; at += kUnit) add(at, kUnit);
  for (const Held& held : held_) {
    if (changed) break;
    add(held.magazine - window_.magazine_units, bytes_of_size(kMagazineSizes - 1));
  }
  memory_.copy_all(pieces);
}

// False: the owner of one was changing it.
bool RemoteHeap::copy_caches(uint64_t first, uint64_t bytes) {
  held_.clear();
  lone_.clear();
  marks_.clear();
  caches_ = {first, first == 0 ? 0 : first + sizeof(Cache)};
  bool quiet = true;
  each_cache(memory_, first, bytes, [&](const RemoteCache& cache) {
    caches_.begin = std::min(caches_.begin, cache.address());
    quiet = quiet && !cache.is_changing();
    for (unsigned i = 0; i < window_.classes; ++i) {
      allocated_ += cache.allocated(i);
      if (const uint64_t loaded = cache.loaded(i); loaded != 0) {
        held_.push_back({i, loaded, cache.top(i)});
      }
      if (const uint64_t previous = cache.previous(i); previous != 0) {
        held_.push_back({i, previous, top_of(previous, cache.previous_rounds(i))});
      }
    }
    if (cache.marks() != 0) marks_.push_back(cache.marks());
  });
  return quiet;
}

// Where the mark of the heap profile lies in a magazine's slot, its object lies elsewhere.
void RemoteHeap::copy_marks() {
  for (const uint64_t address : marks_) {
    const auto marks = memory_.load<Cache::Marks>(address);
    for (unsigned i = 0; i < window_.classes; ++i) {
      if (marks.slot[i + 1] != nullptr) lone_.push_back({i, marks.object[i + 1]});
    }
  }
}

void RemoteHeap::copy_states() {
  states_.clear();
  states_of_unit_.assign(map_.size(), 0);
  std::vector<std::pair<uint64_t, size_t>> stretches;  // from an address, to a place in states_
  for (uint64_t unit = 0; unit < map_.size(); ++unit) {
    const unsigned owner = map_[unit].owner;
    if (owner == 0 || owner > window_.classes || window_.states[owner - 1] == 0) continue;
    const unsigned shift = ObjectStates::shift_of(classes_[owner - 1]);
    const uint64_t begin = window_.units + (unit << kUnitShift);
    states_of_unit_[unit] = states_.size();
    const ObjectStates::Place place{window_.states[owner - 1], shift};
    stretches.emplace_back(place.word(begin, library_.state_bytes), states_.size());
    const uint64_t words = ((begin + kUnit - 1) >> shift) - (begin >> shift) + 1;
    states_.resize(states_.size() + words * library_.state_bytes);
  }
  std::vector<RemoteMemory::Piece> pieces;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const size_t end = i + 1 < stretches.size() ? stretches[i + 1].second : states_.size();
    const auto [from, to] = stretches[i];
    pieces.push_back({from, &states_[to], end - to});
  }
  memory_.copy_all(pieces);
}

const Magazine* RemoteHeap::magazine(uint64_t address) const {
  const uint64_t at = address - window_.magazine_units;
  if (at % kMagazineGranule != 0 || at >= magazines_.size()) return nullptr;
  if (magazines_.size() - at < bytes_of_size(0)) return nullptr;
  return reinterpret_cast<const Magazine*>(magazines_.data() + at);
}

void RemoteHeap::find_live() {
  find_slabs();
  for (const Lone& lone : lone_) take_out(lone.of, lone.object);
  for (const Held& held : held_) take_out_magazine(held);
  take_out_depots();
  use_states();
}

// Whatever the process says, each unit of a slab is of its class, so states_ has the states of all
// of its objects, and an object has room for the address by which its state is found.
bool RemoteHeap::is_whole(uint32_t first) const {
  const unsigned owner = map_[first].owner;
  const SizeClass& c = classes_[owner - 1];
  if (first + c.units > map_.size()) return false;
  if (window_.states[owner - 1] != 0 && c.object_bytes <= library_.state_at) return false;
  return std::all_of(&map_[first], &map_[first] + c.units,
                     [&](const SlabPool::Entry& unit) { return unit.owner == owner; });
}

void RemoteHeap::find_slabs() {
  slabs_.clear();
  live_.clear();
  slab_of_unit_.assign(map_.size(), kNone);
  for (uint32_t n = 0; n < map_.size(); ++n) {
    const unsigned owner = map_[n].owner;
    if (owner == 0 || owner > window_.classes || map_[n].back != 0) continue;
    const SizeClass& c = classes_[owner - 1];
    const uint32_t words = (c.objects_per_slab + 63) / 64;
    const size_t at = record_at(owner - 1, n) + offsetof(SlabArea::Record, bits);
    if (!is_whole(n) || at + words * sizeof(uint64_t) > records_.size()) continue;
    for (uint32_t i = 0; i < c.units; ++i) {
      slab_of_unit_[n + i] = static_cast<uint32_t>(slabs_.size());
    }
    slabs_.push_back({owner - 1, window_.units + (uint64_t{n} << kUnitShift), live_.size()});
    for (uint32_t w = 0; w < words; ++w) {
      uint64_t free;
      memcpy(&free, &records_[at + w * sizeof free], sizeof free);
      const uint32_t left = c.objects_per_slab - w * 64;
      live_.push_back(~free & ~uint64_t{0} >> (64 - std::min(left, 64U)));
    }
  }
}

std::vector<RemoteHeap::Range> RemoteHeap::own_memory() const {
  std::vector<Range> all = {{window_.magazine_units, window_.magazine_units + magazines_.size()},
                            caches_,
                            {window_.units, window_.units}};
  for (const SlabPool::Entry& unit : map_) {  // blocks are the program's, and lead to objects
    const uint64_t at = all.back().end, next = at + (uint64_t{1} << kUnitShift);
    all.back().end = SlabPool::is_of_block(unit) ? at : next;
    if (SlabPool::is_of_block(unit)) all.push_back({next, next});
  }
  return all;
}

uint32_t RemoteHeap::live_objects(const Slab& slab) const {
  uint32_t sum = 0;
  for (uint32_t w = 0; w * 64 < classes_[slab.of].objects_per_slab; ++w) {
    sum += static_cast<uint32_t>(std::popcount(live_[slab.bits + w]));
  }
  return sum;
}

void RemoteHeap::take_out(unsigned of, uint64_t object) {
  const Slab* const slab = slab_at(object);
  if (slab == nullptr || slab->of != of) return;
  const uint32_t number = classes_[of].exact_index(static_cast<uint32_t>(object - slab->start));
  if (number < classes_[of].objects_per_slab) set_free(*slab, number);
}

void RemoteHeap::take_out_magazine(const Held& held) {
  const Magazine* const found = magazine(held.magazine);
  if (found == nullptr || found->size >= kMagazineSizes) return;
  const uint64_t slots = held.magazine + sizeof(Magazine);
  const uint64_t rounds =
      held.top != 0 ? (held.top - slots) / sizeof(uint64_t) : found->rounds.seen();
  const auto* const objects = const_cast<Magazine*>(found)->objects();
  const auto* const end = reinterpret_cast<const uintptr_t*>(magazines_.data() + magazines_.size());
  if (rounds > rounds_of_size(found->size) || objects + rounds > end) return;
  // A mark in a slot is no address of an object.
  for (uint64_t i = 0; i < rounds; ++i) take_out(held.of, objects[i]);
}

void RemoteHeap::take_out_depots() {
  uint64_t left = magazines_.size() / bytes_of_size(0);  // a list may lead round
  for (unsigned i = 0; i < window_.classes; ++i) {
    for (unsigned home = 0; home < ShardedStack::kShards; ++home) {
      each_in_mail(i, home, [&](Mail::Word word) {
        const auto address = reinterpret_cast<uint64_t>(Mail::magazine(word));
        take_out_magazine({i, address, top_of(address, Mail::rounds(word))});
      });
      for (auto id = static_cast<uint32_t>(depots_[i].head(home)); id != 0 && left > 0; --left) {
        const uint64_t address = window_.magazines + uint64_t{id} * kMagazineGranule;
        take_out_magazine({i, address, 0});
        const Magazine* const found = magazine(address);
        id = found == nullptr ? 0 : found->next.load(std::memory_order_relaxed);
      }
    }
  }
}

const char* RemoteHeap::state_of(uint64_t object, unsigned of) const {
  const unsigned shift = ObjectStates::shift_of(classes_[of]);
  const uint64_t address = object + library_.state_at;
  const uint64_t unit = (address - window_.units) >> kUnitShift;
  const uint64_t begin = window_.units + (unit << kUnitShift);
  const uint64_t words = (address >> shift) - (begin >> shift);
  return &states_[states_of_unit_[unit] + words * library_.state_bytes];
}

void RemoteHeap::use_states() {
  for (const Slab& slab : slabs_) {
    if (window_.states[slab.of] == 0) continue;
    each_live(slab, [&](uint32_t object, uint64_t address) {
      uint16_t word;
      memcpy(&word, state_of(address, slab.of), sizeof word);
      Owned<uint16_t> copy = word;
      const ObjectStates::State state = ObjectStates::Entry(copy, address).state();
      if (state != ObjectStates::kLive && state != ObjectStates::kLiveWithCanary) {
        set_free(slab, object);
      }
    });
  }
}

uint32_t RemoteHeap::program_bytes_at(uint64_t object) const {
  const Slab* const slab = kind_ == LibraryKind::kChecked ? slab_at(object) : nullptr;
  if (slab == nullptr || window_.states[slab->of] == 0) return 0;
  checked::Head head;
  memcpy(&head, state_of(object, slab->of), sizeof head);
  const uint32_t most = classes_[slab->of].object_bytes;  // the head may have been overwritten
  return static_cast<uint32_t>(std::min<uint64_t>(head.front(), most));
}

}  // namespace pktmalloc
