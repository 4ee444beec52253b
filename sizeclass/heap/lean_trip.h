// SPDX-License-Identifier: MIT
// Lean trips: the exchange of a magazine where nothing else is due, for the slow paths of malloc
// and free to inline. At 200,000 packets a second all of it is cold, so what counts is how many
// cache lines it touches: of data the cache's tops and counts, its line of the class, seen_, Due,
// the mail, and the ends of two magazines. std::launder hides from the compiler how the
// addresses of line and mail came about: else it computes them anew for most of their fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "sizeclass/heap/cache.h"

namespace pktmalloc {

[[gnu::always_inline]] inline void* Cache::take_lean(ClassId id, Depot& depot, const Due& due) {
  // Taken at once; the rest come one by one, as objects are taken (magazine.h).
  constexpr int kFirst = 6;
  const size_t i = static_cast<size_t>(id);
  Line& line = *std::launder(&lines_[i]);
  Magazine* const empty = line.loaded;
  if (seen_ != due.word() || empty == nullptr || tops_[i] != empty->slots()) [[unlikely]]
    return nullptr;
  Magazine* full = line.previous;
  uint32_t rounds = line.previous_rounds;
  if (rounds == 0 && (line.lean == 0 || empty->capacity < line.rounds || due.is_time()))
      [[unlikely]]
    return nullptr;
  const Raised change(changing_);
  if (rounds != 0) {
    line.previous = empty;
    line.previous_rounds = 0;
  } else {
    Mail& mail = *std::launder(&depot.mail(id, line.source));
    const Mail::Word word = mail.take(Mail::empty(empty, empty->capacity), line.gives);
    if (word == 0) [[unlikely]]
      return nullptr;
    full = Mail::magazine(word);
    full->more_ahead[0] = reinterpret_cast<uintptr_t>(&mail);  // fetched before the next trip
    rounds = Mail::rounds(word);
    note_taken(line, rounds);
    note_trip(line, seen_);
    --line.lean;
  }
  line.loaded = full;
  uintptr_t* const top = full->slots() + rounds;
  const uintptr_t object = *top;
#pragma GCC unroll 8
  for (int n = 1; n < kFirst; ++n) machine::prefetch_for_writing(top[-n]);
  tops_[i] = top - 1;
  ++allocated_[i];
  return reinterpret_cast<void*>(object);
}

[[gnu::always_inline]] inline bool Cache::give_lean(ClassId id, void* object, Depot& depot,
                                                    const Due& due) {
  const size_t i = static_cast<size_t>(id);
  Line& line = *std::launder(&lines_[i]);
  const uintptr_t* const end = tops_[i];
  Magazine* empty = line.previous;
  if (seen_ != due.word() || empty == nullptr || end[1] != kFullMark ||
      end[0] == reinterpret_cast<uintptr_t>(object)) [[unlikely]]
    return false;
  const uint32_t rounds = line.previous_rounds;
  if (rounds == 0 ? line.swaps + 1 >= kHovers
                  : line.lean == 0 || rounds < line.rounds ||
                        line.last_look != static_cast<uint16_t>(seen_) || due.is_time())
      [[unlikely]]
    return false;
  const Raised change(changing_);
  if (rounds == 0) {
    ++line.swaps;
  } else {
    Mail& mail = *std::launder(&depot.mail(id, home));
    const Mail::Word word = mail.give(Mail::full(empty, rounds), line.rounds, line.gives);
    if (word == 0) [[unlikely]]
      return false;
    empty = Mail::magazine(word);
    note_given(line, rounds);
    note_trip(line, seen_);
    --line.lean;
  }
  Magazine* const full = line.loaded;
  line.previous = full;
  line.previous_rounds = static_cast<uint32_t>(tops_[i] - full->slots());
  line.loaded = empty;
  uintptr_t* const bottom = empty->slots();
  bottom[1] = reinterpret_cast<uintptr_t>(object);
  tops_[i] = bottom + 1;
  return true;
}

}  // namespace pktmalloc
