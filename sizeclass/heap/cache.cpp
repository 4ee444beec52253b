// SPDX-License-Identifier: MIT
#include "sizeclass/heap/cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/misuse.h"

namespace pktmalloc {

constinit const Cache kNullCache;

// Every trip quadruples what the thread may hold of the class: a thread that uses a class once
// keeps a few objects; a busy one trades a full magazine for one atomic. Large objects in magazines
// cost much memory, and few trips cost little: so beyond the usual size a magazine grows only for a
// thread that makes kStreak trips within kStreakMs. After a slower streak the next kPause are not
// timed: at a steady rate a trip that is not lean costs 0.7 us, most of it cold code.
void Cache::grow(const SizeClass& c, Line& line) {
  constexpr uint16_t kStreak = 32, kPause = 512, kStreakMs = 4;  // a reading of the coarse clock
  if (line.rounds < c.usual_rounds) {
    line.rounds = static_cast<uint16_t>(
        line.rounds == 0 ? c.first_rounds : std::min<unsigned>(line.rounds * 4U, c.usual_rounds));
  } else if (line.rounds == c.largest_rounds) {
    line.lean = UINT8_MAX;
  } else if (line.lean > 0) {
    --line.lean;
  } else {
    const auto now = static_cast<uint16_t>(clock_ms() | 1);
    const bool is_timed = line.streak_ms != 0;
    const bool is_fast = is_timed && static_cast<uint16_t>(now - line.streak_ms) <= kStreakMs;
    if (is_fast) {
      line.rounds = static_cast<uint16_t>(std::min<unsigned>(line.rounds * 4U, c.largest_rounds));
    }
    line.streak_ms = is_timed && !is_fast ? 0 : now;
    line.lean = line.streak_ms == 0 ? kPause : kStreak;
  }
}

void Cache::trip(const Supply& supply, ClassId id, Line& line) {
  if (line.rounds == 0) line.source = home;
  const SizeClass& c = supply.classes[id];
  if (supply.area(id).is_reserved_for_many()) line.rounds = c.largest_rounds;
  grow(c, line);
  note_trip(line, visits.tick);
  tripped = true;
}

void Cache::load(ClassId id, Line& line, Magazine* magazine) {
  line.loaded = magazine;
  tops_[index(id)] = magazine != nullptr ? magazine->top() : const_cast<uintptr_t*>(kSentinel);
}

void Cache::mark_after(ClassId id, uint64_t objects) {
  Line& line = lines_[index(id)];
  if (line.loaded == nullptr) return;
  uintptr_t* const top = tops_[index(id)];
  if (objects >= static_cast<uint64_t>(top - line.loaded->slots())) return;
  const Raised change(changing_);
  uintptr_t* const slot = top - objects;
  marks->slot[index(id)] = slot;
  marks->object[index(id)] = *slot;
  *slot = kEmptyMark;
}

void Cache::unmark(ClassId id) {
  if (marks == nullptr || marks->slot[index(id)] == nullptr) return;
  const Raised change(changing_);
  *marks->slot[index(id)] = marks->object[index(id)];
  marks->slot[index(id)] = nullptr;
}

void Cache::unload(ClassId id, Line& line) {
  if (line.previous != nullptr) line.previous->rounds = line.previous_rounds;
  if (line.loaded == nullptr) return;
  unmark(id);
  line.loaded->rounds = static_cast<uint32_t>(tops_[index(id)] - line.loaded->slots());
}

void Cache::set_previous(Line& line, Magazine* magazine) {
  line.previous = magazine;
  line.previous_rounds = magazine != nullptr ? uint32_t{magazine->rounds} : 0;
}

// A larger magazine instead of the empty one, or of none, if it is too small; itself, if there is
// no memory for that.
Magazine* Cache::enlarge(const Supply& supply, const Line& line, Magazine* empty) {
  if (empty != nullptr && empty->capacity >= line.rounds) return empty;
  Magazine* const larger = supply.store.obtain(line.rounds, home);
  if (larger == nullptr) return empty;
  if (empty != nullptr) supply.store.give_back(empty, home);
  return larger;
}

// A program whose bursts go to and fro over the border between its two magazines would swap them
// each time and make no trip, at which they grow. After a few swaps the objects on top of the full
// one move over, half of a large one, and then there are objects and room on both sides.
void Cache::balance(const Supply& supply, ClassId id, Line& line) {
  const SizeClass& c = supply.classes[id];
  if (line.previous->capacity < c.largest_rounds) grow(c, line);
  line.previous = enlarge(supply, line, line.previous);
  Magazine& full = *line.loaded;
  Magazine& empty = *line.previous;
  // There must be room for the object that is being released.
  const uint32_t moved = std::min<uint32_t>(full.rounds, empty.capacity / 2U);
  full.rounds = full.rounds - moved;
  memcpy(empty.objects(), full.objects() + full.rounds, moved * sizeof(uintptr_t));
  empty.rounds = moved;
  line.swaps = 0;
}

// The loaded magazine for the previous one. After unload().
void Cache::swap(ClassId id, Line& line) {
  Magazine* const loaded = line.loaded;
  load(id, line, line.previous);
  set_previous(line, loaded);
}

void Cache::trade(const Supply& supply, ClassId id, Cache& other) {
  // Keep the objects in use few, for the processor's nearest cache; but a very small number is not
  // worth a call that costs as much as four or five fast ones.
  constexpr size_t kBytes = 4096, kMost = 32;
  const size_t least = std::clamp<size_t>(kBytes / supply.classes[id].object_bytes, 1, kMost);
  const unsigned i = index(id);
  const Raised change(changing_), also(other.changing_);
  Magazine* const theirs = other.lines_[i].loaded;
  if (*tops_[i] != kEmptyMark || lines_[i].loaded == nullptr || theirs == nullptr) return;
  if (static_cast<size_t>(other.tops_[i] - theirs->slots()) < least) return;
  std::swap(lines_[i].loaded, other.lines_[i].loaded);
  std::swap(tops_[i], other.tops_[i]);
  tripped = true;
}

void* Cache::allocate_unlooked(ClassId id, const Due& due) {
  if (visits.unlooked == 0 || seen_ != due.word() || due.is_time()) return nullptr;
  --visits.unlooked;
  return allocate(id);
}

void* Cache::allocate_slow(const Supply& supply, ClassId id, bool fills) {
  const Raised change(changing_);
  Line& line = lines_[index(id)];
  unload(id, line);
  const bool has_more = line.previous != nullptr && line.previous->rounds > 0;
  // Without a loaded one that is what release_slow() put aside.
  if (!has_more || line.loaded == nullptr) {
    if (take_or_fill(supply, id, line, fills)) return allocate(id);
    if (!has_more) return nullptr;
  }
  swap(id, line);
  return allocate(id);
}

// Fisher and Yates, group by group: what a program allocates together stays on few pages.
void Cache::shuffle(uintptr_t* objects, uint32_t count) {
  constexpr uint32_t kGroup = 16;
  for (uint32_t left = count; left > 1; --left) {
    random_ = next_number(random_);
    const uint32_t in_group = (left - 1) % kGroup + 1;
    const uint32_t below = static_cast<uint32_t>((random_ >> 32) * in_group >> 32);
    std::swap(objects[left - 1], objects[left - in_group + below]);
  }
}

// Replaces the loaded magazine, which is empty or missing, by one with objects.
bool Cache::take_or_fill(const Supply& supply, ClassId id, Line& line, bool fills) {
  const SizeClass& c = supply.classes[id];
  trip(supply, id, line);
  if (Magazine* full = supply.depot.take(id, home, line.source, line.gives)) {
    note_taken(line, full->rounds);
    Magazine* const empty = line.loaded;
    load(id, line, full);
    const uintptr_t* const top = tops_[index(id)];
    for (ptrdiff_t n = 0; n < kAhead; ++n) machine::prefetch_for_writing(top[-n]);
    if (empty == nullptr) return true;
    if (line.previous == nullptr) {
      set_previous(line, empty);
    } else if (empty->capacity < c.usual_rounds ||
               !supply.depot.leave(id, Mail::empty(empty, empty->capacity), line.source,
                                   line.gives)) {
      supply.store.give_back(empty, home);
    }
    return true;
  }
  if (!fills) return false;
  Magazine* const filled = enlarge(supply, line, line.loaded);
  if (filled == nullptr) return false;
  // A thousand threads that use a class once share its pages.
  const bool one = line.rounds == c.first_rounds && c.object_bytes >= 128;
  filled->rounds = supply.area(id).fill(filled->objects(), one ? 1 : uint32_t{filled->capacity});
  if (random_ != 0) shuffle(filled->objects(), filled->rounds);
  if (filled->rounds >= c.usual_rounds) supply.depot.note_refill(id);
  load(id, line, filled);
  return filled->rounds > 0;
}

void Cache::give(const Supply& supply, ClassId id, Line& line, Magazine* magazine) {
  const uint64_t turn = line.gives;
  note_given(line, magazine->rounds);
  if (magazine->capacity < supply.classes[id].usual_rounds) {
    supply.depot.give(id, magazine, home);
  } else if (Magazine* const smaller = supply.depot.post(id, magazine, home, turn)) {
    supply.store.give_back(smaller, home);
  }
}

Magazine* Supply::drain(ClassId id, Magazine* magazine) const {
  if (magazine->rounds > 0) area(id).drain(magazine->objects(), magazine->rounds);
  magazine->rounds = 0;
  return magazine;
}

void Cache::release_slow(const Supply& supply, ClassId id, void* object) {
  const Raised change(changing_);
  Line& line = lines_[index(id)];
  unload(id, line);
  if (line.loaded == nullptr && line.previous != nullptr) {
    swap(id, line);
    if (release(id, object)) return;
  }
  const uintptr_t freed = reinterpret_cast<uintptr_t>(object);
  if (*tops_[index(id)] == freed) {
    report_misuse(Misuse::kFreedAgain, freed, supply.classes[id].object_bytes);
  }
  if (line.previous != nullptr && line.previous->rounds == 0) {
    if (++line.swaps >= kHovers) balance(supply, id, line);
    swap(id, line);
  } else {
    const bool is_first = line.rounds == 0;
    trip(supply, id, line);
    Magazine* const empty = make_room(supply, id, line);
    if (empty == nullptr) return supply.area(id).drain(&freed, 1);
    if (is_first) {
      // Another thread's, who may have its neighbours in the cache line: not to be handed out as
      // long as there is another one.
      empty->objects()[0] = freed;
      empty->rounds = 1;
      line.lean = 0;  // a lean trip expects a loaded one
      return set_previous(line, empty);
    }
    set_previous(line, line.loaded);
    load(id, line, empty);
  }
  release(id, object);
}

// Before a magazine leaves the thread. Of two frees of an object one may lie in the magazine that
// was filled after it; if both are too large to be looked at together, the ends that meet are.
void Cache::inspect(const SlabArea& area, Magazine* magazine, Magazine* later) {
  if (magazine == nullptr) return;
  constexpr uint32_t kEnd = 32;
  const uint32_t rounds = magazine->rounds;
  if (later == nullptr) return area.inspect(magazine->objects(), rounds);
  uint32_t before = rounds, after = later->rounds;
  if (before + after > SlabArea::kInspectMost) {
    area.inspect(magazine->objects(), rounds);
    before = std::min(before, kEnd);
    after = std::min(after, kEnd);
  }
  area.inspect(magazine->objects() + rounds - before, before, later->objects(), after);
}

// An empty magazine, for which the previous one goes to the depot. Where there is no memory for it,
// the thread's older one, whose objects go to their slabs. nullptr: it has none.
Magazine* Cache::make_room(const Supply& supply, ClassId id, Line& line) {
  Magazine *const full = line.previous, *const loaded = line.loaded;
  const SlabArea area = supply.area(id);
  if (line.last_look != static_cast<uint16_t>(visits.tick)) inspect(area, full, loaded);
  line.last_look = static_cast<uint16_t>(visits.tick - (line.given < kInspectAll ? 1 : 0));
  const bool grows = full == nullptr || full->capacity < line.rounds;
  if (!grows) {
    if (Magazine* empty = supply.depot.exchange(id, full, line.rounds, home, line.gives)) {
      note_given(line, line.previous_rounds);
      return empty;
    }
  }
  Magazine* empty = supply.store.reuse(line.rounds, home);
  if (empty == nullptr && (grows || supply.depot.objects(id) < area.promised() ||
                           supply.depot.grants_magazine(id, supply.classes[id].largest_rounds))) {
    empty = supply.store.make(line.rounds);
  }
  if (empty != nullptr) {
    if (full != nullptr) give(supply, id, line, full);
    return empty;
  }
  if (full == nullptr) load(id, line, nullptr);
  Magazine* const oldest = full != nullptr ? full : loaded;
  return oldest != nullptr ? supply.drain(id, oldest) : nullptr;
}

void Cache::flush_class(const Supply& supply, ClassId id, Line& line, bool to_depot) {
  const Raised change(changing_);
  unload(id, line);
  if (to_depot) {  // slabs look at each object themselves
    inspect(supply.area(id), line.previous, line.loaded);
    inspect(supply.area(id), line.loaded, nullptr);
  }
  Magazine* const held[] = {line.loaded, line.previous};
  load(id, line, nullptr);
  set_previous(line, nullptr);
  line.rounds = 0;
  for (Magazine* magazine : held) {
    if (magazine == nullptr) continue;
    const uint32_t rounds = magazine->rounds;
    if (!to_depot || rounds * 2 < magazine->capacity ||
        rounds * 32 < supply.classes[id].largest_rounds) {
      // Aged here already, less than half full, or very few: not worth another thread's trip.
      supply.store.give_back(supply.drain(id, magazine), home);
    } else {
      give(supply, id, line, magazine);
    }
  }
}

bool Cache::flush_idle(const Supply& supply, uint32_t ticks, ClassId busy) {
  if (changing_) return false;
  if (busy != kNoClass) lines_[index(busy)].last_trip = static_cast<uint16_t>(visits.tick);
  for (const ClassId id : supply.classes.ids()) {
    Line& line = lines_[index(id)];
    const bool is_idle = static_cast<uint16_t>(visits.tick - line.last_trip) >= ticks;
    if (line.rounds == 0 || id == busy || !is_idle) continue;
    flush_class(supply, id, line, false);
    return true;
  }
  return false;
}

bool Cache::recover() {
  if (changing_) return false;
  for (unsigned i = 0; i < kMaxClasses; ++i) unmark(static_cast<ClassId>(i));
  marks = nullptr;
  return true;
}

void Cache::flush(const Supply& supply, bool keeps_few) {
  for (const ClassId id : supply.classes.ids()) {
    const uint64_t held = statistics(id).held * supply.classes[id].object_bytes;
    if (lines_[index(id)].rounds == 0 || (keeps_few && held <= ClassTable::kUsualMagazineBytes))
      continue;
    flush_class(supply, id, lines_[index(id)], true);
  }
}

// May run while the owner works: each value is one aligned word, and a top outside the magazine it
// is compared with counts as empty.
CacheStatistics Cache::statistics(ClassId id, CacheStatistics s) const {
  const Line& line = lines_[index(id)];
  s.taken += line.taken.seen();
  s.given += line.given.seen();
  s.takes += line.takes.seen();
  s.gives += line.gives.seen();
  s.allocated += allocated_[index(id)].seen();
  s.held += line.previous_rounds.seen();
  if (Magazine* loaded = line.loaded.seen()) {
    const uintptr_t rounds = static_cast<uintptr_t>(tops_[index(id)].seen() - loaded->slots());
    if (rounds <= loaded->capacity.seen()) s.held += rounds;
  }
  return s;
}

// Runs: many objects at once, copied from and to a magazine. Four at a time, because a loop for
// each would cost as much as what it does.

size_t Cache::allocate_run(ClassId id, void** objects, size_t count) {
  const size_t i = static_cast<size_t>(id);
  uintptr_t* top = tops_[i];
  size_t n = 0;
  const auto take = [&](uintptr_t object) { objects[n++] = reinterpret_cast<void*>(object); };
  const auto holds = [&](int k) { return top[-k] != kEmptyMark; };
  while (count - n >= 4 && holds(0) && holds(1) && holds(2) && holds(3)) {
    take(top[0]), take(top[-1]), take(top[-2]), take(top[-3]);
    for (int k = 0; k < 4; ++k) machine::prefetch_for_writing(top[-k - kAhead]);
    top -= 4;
  }
  while (n < count && *top != kEmptyMark) take(*top--);
  if (n == 0) return 0;  // perhaps on the null cache, which is constant
  std::atomic_signal_fence(std::memory_order_release);  // no signal finds an object missing
  tops_[i] = top;
  allocated_[i] += n;
  return n;
}

size_t Cache::release_run(ClassId id, void* const* objects, size_t count, unsigned unit_shift) {
  const size_t i = static_cast<size_t>(id);
  Magazine* const loaded = lines_[i].loaded;
  if (loaded == nullptr) return 0;
  uintptr_t* top = tops_[i];
  count = std::min(count, static_cast<size_t>(loaded->slots() + loaded->capacity - top));
  const auto at = [=](size_t n) { return reinterpret_cast<uintptr_t>(objects[n]); };
  const uintptr_t first = at(0);
  size_t n = 0;
  while (count - n >= 4) {
    const uintptr_t a = at(n), b = at(n + 1), c = at(n + 2), d = at(n + 3);
    if (((a ^ first) | (b ^ first) | (c ^ first) | (d ^ first)) >> unit_shift != 0) break;
    if (a == *top || b == a || c == b || d == c) break;
    top[1] = a, top[2] = b, top[3] = c, top[4] = d;
    top += 4;
    n += 4;
  }
  while (n < count && (at(n) ^ first) >> unit_shift == 0 && at(n) != *top) *++top = at(n++);
  if (n == 0) return 0;
  std::atomic_signal_fence(std::memory_order_release);
  tops_[i] = top;
  return n;
}

}  // namespace pktmalloc
