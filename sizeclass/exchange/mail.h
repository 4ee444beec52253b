// SPDX-License-Identifier: MIT
// Mail: where the threads of one home leave full magazines of a class and find empty ones, and the
// other way round; a line of four words.
//
//     0, or | rounds, of an empty one its capacity: 16 bits | address | age | is full |
//
// Who has a full magazine and needs an empty one, or an empty one and needs objects, swaps one for
// the other by a single compare-and-swap. Nobody reads what lies behind a word that he has not got,
// so one that came back meanwhile does no harm (no ABA). A word without a magazine waits for one.
// The depot's stacks have the rest (depot.h). Who gives tries the places in turn, from `turn` up;
// and whoever takes, from there down: so a thread that takes what it gave gets the newest first.
// Any thread, no lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "sizeclass/base/low_water.h"
#include "sizeclass/exchange/magazine.h"

namespace pktmalloc {

class alignas(64) Mail {
 public:
  using Word = uint64_t;
  static constexpr unsigned kWords = 4;

  static Word full(const Magazine* magazine, uint64_t rounds) {
    return reinterpret_cast<Word>(magazine) | rounds << kRoundsShift | kFull;
  }
  static Word empty(const Magazine* magazine, uint64_t capacity) {
    return reinterpret_cast<Word>(magazine) | capacity << kRoundsShift;
  }
  static Magazine* magazine(Word word) {
    return reinterpret_cast<Magazine*>(word & ((Word{1} << kRoundsShift) - kMagazineGranule));
  }
  static uint32_t rounds(Word word) { return static_cast<uint32_t>(word >> kRoundsShift); }
  static bool is_full(Word word) { return (word & kFull) != 0; }

  // A full magazine for an empty one, or for 0. 0: there is none.
  Word take(Word in_return, uint64_t turn) {
    for (unsigned n = 1; n <= kWords; ++n) {
      auto& place = words_[(turn - n) % kWords];
      const Word there = place.load(std::memory_order_relaxed);
      if (is_full(there) && swap(place, there, in_return)) return there;
    }
    return 0;
  }
  // An empty one, of so many rounds at least, for a full one. 0: there is none.
  Word give(Word in_return, uint32_t capacity, uint64_t turn) {
    for (unsigned n = 0; n < kWords; ++n) {
      auto& place = words_[(turn + n) % kWords];
      const Word there = place.load(std::memory_order_relaxed);
      if (!is_full(there) && rounds(there) >= capacity && swap(place, there, in_return)) {
        return there;
      }
    }
    return 0;
  }
  // Leaves it where there is no magazine.
  bool leave(Word word, uint64_t turn) {
    for (unsigned n = 0; n < kWords; ++n) {
      auto& place = words_[(turn + n) % kWords];
      if (place.load(std::memory_order_relaxed) == 0 && swap(place, 0, word)) return true;
    }
    return false;
  }
  // Leaves it instead of what is there, which it returns, perhaps 0; or the word itself, if it
  // failed.
  Word replace(Word word, uint64_t turn) {
    auto& place = words_[turn % kWords];
    const Word there = place.load(std::memory_order_relaxed);
    return there != kFrozen && swap(place, there, word) ? there : word;
  }

  // What lies in a place, frozen or not; 0: nothing.
  Word word(unsigned n) const { return words_[n].load(std::memory_order_relaxed); }

  // Objects in full magazines.
  uint32_t objects() const {
    uint32_t sum = 0;
    for (const auto& place : words_) {
      const Word there = place.load(std::memory_order_relaxed);
      if (is_full(there)) sum += rounds(there);
    }
    return sum;
  }

  // For ageing, one caller at a time. Ends a tick: how many magazines, full ones or not, have lain
  // here for a whole window.
  uint32_t tick() {
    uint32_t old = 0;
    for (auto& place : words_) {
      const Word there = place.load(std::memory_order_relaxed);
      if (is_old(there)) {
        ++old;
      } else if (magazine(there) != nullptr) {
        swap(place, there, there + kAge);
      }
    }
    return old;
  }
  Word take_old() {
    for (auto& place : words_) {
      const Word there = place.load(std::memory_order_relaxed);
      if (is_old(there) && swap(place, there, 0)) return there;
    }
    return 0;
  }

  // Until thaw() nobody finds or leaves one here. `kept`: kWords words.
  void freeze(Word* kept) {
    for (auto& place : words_) *kept++ = place.exchange(kFrozen, std::memory_order_acq_rel);
  }
  void thaw(const Word* kept) {
    for (auto& place : words_) place.store(*kept++, std::memory_order_release);
  }

 private:
  static constexpr unsigned kRoundsShift = 48;  // addresses of programs have 47 bits
  static constexpr Word kFull = 1, kAge = 2, kAges = 7 * kAge, kOld = LowWater::kTicks * kAge;
  static constexpr Word kFrozen = kAge;  // no magazine, and not 0

  static bool is_old(Word word) { return magazine(word) != nullptr && (word & kAges) >= kOld; }
  // Release: whoever gets the magazine (acquire) sees what we wrote to it.
  static bool swap(std::atomic<Word>& place, Word there, Word word) {
    return place.compare_exchange_strong(there, word, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  std::atomic<Word> words_[kWords]{};
};
static_assert(sizeof(Mail) == 64 && kMagazineGranule == 64);

}  // namespace pktmalloc
