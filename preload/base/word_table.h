// SPDX-License-Identifier: MIT
// WordTable: words that hold an address each, found by that address; 0 means none. Open addressing
// with linear probing in memory of its own, half to three quarters full while it grows; it then
// doubles and never shrinks. Not synchronised; keeps errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/base/mapping.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {

template <typename Word, uintptr_t (*kAddressIn)(Word)>
class WordTable {
 public:
  // Fibonacci hashing (Knuth, vol. 3, 6.4); the table uses the top bits.
  static uint64_t hash(uintptr_t address) { return (address >> 4) * 0x9E3779B97F4A7C15; }

  size_t size() const { return words_ == nullptr ? 0 : size_t{1} << bits_; }
  Word operator[](size_t i) const { return words_[i]; }

  Word find(uintptr_t address) const { return words_ == nullptr ? Word{} : words_[at(address)]; }

  // `former`: the word that it replaces, of the same address. False, with nothing changed, when the
  // system refuses memory.
  bool put(Word word, Word& former) {
    if (count_ >= size() / 4 * 3 && !grow()) return false;
    Word& place = words_[at(kAddressIn(word))];
    former = place;
    if (former == Word{}) ++count_;
    place = word;
    return true;
  }

  Word take(uintptr_t address) {
    const Word found = find(address);
    if (found == Word{}) return found;
    --count_;
    size_t hole = at(address);
    // Algorithm R (Knuth, vol. 3, 6.4): words at home behind the hole would no longer be found.
    for (size_t i = next(hole); words_[i] != Word{}; i = next(i)) {
      const size_t from_home = i - home(kAddressIn(words_[i]));
      if ((from_home & mask()) < ((i - hole) & mask())) continue;
      words_[hole] = words_[i];
      hole = i;
    }
    words_[hole] = Word{};
    return found;
  }

 private:
  static constexpr unsigned kFirstBits = 9;  // one page
  static constexpr size_t kWordBytes = 8;
  static_assert(sizeof(Word[1]) == kWordBytes);

  size_t mask() const { return size() - 1; }
  size_t next(size_t i) const { return (i + 1) & mask(); }
  size_t home(uintptr_t address) const { return hash(address) >> (64 - bits_); }

  // The place of the address's word, or the free place for it.
  size_t at(uintptr_t address) const {
    size_t i = home(address);
    while (words_[i] != Word{} && kAddressIn(words_[i]) != address) i = next(i);
    return i;
  }

  bool grow() {
    const KeepErrno keep_errno;
    WordTable larger;
    larger.bits_ = words_ == nullptr ? kFirstBits : bits_ + 1;
    larger.words_ = static_cast<Word*>(map_lazily(kWordBytes << larger.bits_));
    if (larger.words_ == nullptr) return false;
    for (size_t i = 0; i < size(); ++i) {
      Word none;
      if (words_[i] != Word{}) larger.put(words_[i], none);
    }
    if (words_ != nullptr) munmap(words_, kWordBytes << bits_);
    *this = larger;
    return true;
  }

  Word* words_ = nullptr;
  unsigned bits_ = 0;
  size_t count_ = 0;
};

}  // namespace pktmalloc
