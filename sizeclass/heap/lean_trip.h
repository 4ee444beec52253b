// SPDX-License-Identifier: MIT
// Lean trips: the exchange of a magazine where nothing else is due, for the slow paths of malloc
// and free to inline. At 200,000 packets a second all of it is cold, so what counts is how many
// cache lines it touches: of data the cache's tops and counts, its line of the class, seen_, Due,
// the mail, and the ends of two magazines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sizeclass/heap/cache.h"

namespace pktmalloc {

[[gnu::always_inline]] inline void* Cache::take_lean(ClassId id, Depot& depot, const Due& due) {
  // Taken at once; the rest come one by one, as objects are taken (magazine.h).
  constexpr int kFirst = 6;
  const size_t i = static_cast<size_t>(id);
  Line& line = lines_[i];
  Magazine* const empty = line.loaded;
  if (seen_ != due.word() || empty == nullptr || tops_[i] != empty->slots()) [[unlikely]]
    return nullptr;
  const Raised change(changing_);
  Magazine* full = line.previous;
  uint32_t rounds = line.previous_rounds;
  if (rounds != 0) {
    line.previous = empty;
    line.previous_rounds = 0;
  } else {
    Mail::Word word = 0;
    if (line.lean != 0 && empty->capacity == line.rounds && due.is_seen(seen_)) [[likely]] {
      word = depot.mail(id, line.source).take(Mail::empty(empty, line.rounds), line.gives);
    }
    if (word == 0) [[unlikely]]
      return nullptr;
    full = Mail::magazine(word);
    rounds = Mail::rounds(word);
    note_taken(line, rounds);
    note_trip(line, static_cast<uint32_t>(seen_));
    --line.lean;
  }
  line.loaded = full;
  uintptr_t* const top = full->slots() + rounds;
  const uintptr_t object = *top;
  for (int n = 1; n < kFirst; ++n) machine::prefetch_for_writing(top[-n]);
  tops_[i] = top - 1;
  ++allocated_[i];
  return reinterpret_cast<void*>(object);
}

[[gnu::always_inline]] inline bool Cache::give_lean(ClassId id, void* object, Depot& depot,
                                                    const Due& due) {
  const size_t i = static_cast<size_t>(id);
  Line& line = lines_[i];
  uintptr_t* const end = tops_[i];
  Magazine* const full = line.loaded;
  Magazine* empty = line.previous;
  if (seen_ != due.word() || empty == nullptr || end[1] != kFullMark ||
      end[0] == reinterpret_cast<uintptr_t>(object)) [[unlikely]] {
    return false;
  }
  const uint32_t rounds = line.previous_rounds;
  if (rounds == 0 && line.swaps + 1 >= kHovers) [[unlikely]]
    return false;
  const Raised change(changing_);
  if (rounds == 0) {
    ++line.swaps;
  } else {
    Mail::Word word = 0;
    if (line.lean != 0 && rounds == line.rounds && !looks(line) && due.is_seen(seen_)) [[likely]] {
      word = depot.mail(id, home).give(Mail::full(empty, rounds), rounds, line.gives);
    }
    if (word == 0) [[unlikely]]
      return false;
    empty = Mail::magazine(word);
    note_given(line, rounds);
    note_trip(line, static_cast<uint32_t>(seen_));
    --line.lean;
  }
  line.previous = full;
  line.previous_rounds = static_cast<uint32_t>(end - full->slots());
  line.loaded = empty;
  uintptr_t* const bottom = empty->slots();
  bottom[1] = reinterpret_cast<uintptr_t>(object);
  tops_[i] = bottom + 1;
  return true;
}

}  // namespace pktmalloc
