// SPDX-License-Identifier: MIT
// ObjectStates: which addresses are objects, and whether those are in use; far from the objects.
//
//     | state of an object | its address / 16, lowest 14 bits |    a word of 16 bits
//
// The word's place follows from the address. A class divides addresses into granules, of the
// largest power of two that is not above its object size: no two objects begin in the same one, and
// each granule has a word. So one load tells whether an object in use begins at an address. A word
// of another address, in the middle of an object or never handed out, differs: granules have at
// most 256 KiB.
//
//     words for granules of 16:  | unit 0 | unit 1 | ...
//     words for granules of 32:  | unit 0 | unit 1 | ...
//
// Classes with equal granules share words, with room for the words of all addresses: a
// shift and an addition find a word. It grows to the highest unit that such a class has.
//
// Whoever hands objects out and takes them back sets the states (preload/hardened). A canary lies
// behind the object's bytes, and is no concern of the engine's. A slab's words are opened with it,
// and none is left of those that had its units before. Optional: a heap that was not asked for
// states has none. Words may be larger: then they begin so, and their owner says what follows
// (preload/checked). Then blocks have some, too: for kNoClass, in granules of a unit.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/growing_memory.h"
#include "sizeclass/base/mutex.h"
#include "sizeclass/base/owned.h"
#include "sizeclass/slabs/class_table.h"

namespace pktmalloc {

class ObjectStates {
 public:
  enum State : uint16_t { kNone, kLive, kFreed, kLiveWithCanary };

  // An object has one owner at a time. `address` is a multiple of 16.
  class Entry {
   public:
    Entry(Owned<uint16_t>& word, uintptr_t address) : word_(word), key_(address >> 2) {}
    bool is(State state) const { return word_ == with(state); }
    State state() const {
      const unsigned found = word_ ^ with(kNone);
      return found <= kLiveWithCanary ? static_cast<State>(found) : kNone;
    }
    // Only where an object of a slab begins.
    void set(State state) const { word_ = with(state); }

   private:
    uint16_t with(State state) const { return static_cast<uint16_t>(key_ + state); }

    Owned<uint16_t>& word_;
    const uintptr_t key_;
  };

  // Addresses for the words of `bytes` of objects.
  static size_t room_for(size_t bytes, size_t word_bytes) {
    return bytes / 8 * word_bytes + (kMostShift - kLeastShift + 1) * step(word_bytes, kLeastShift);
  }
  // For the objects of so many bytes from `base` on, a multiple of all granules. `room`: where the
  // words lie.
  void start(uintptr_t base, size_t bytes, const ClassTable& classes, uintptr_t room,
             size_t word_bytes);

  // Opens the words of a slab of the class, or of a block (kNoClass). False when the system
  // refuses.
  bool open(ClassId id, uintptr_t start, size_t bytes);

  // Nobody has the units there. Their words go back, as far as they have whole pages.
  void purge(uintptr_t start, size_t bytes);

  // `address` lies in a slab of the class; for kNoClass, which has none, anywhere, but among units
  // where words are larger.
  Entry entry(ClassId id, uintptr_t address) const {
    return {word<Owned<uint16_t>>(id, address), address};
  }

  template <typename Word>
  Word& word(ClassId id, uintptr_t address) const {
    return *reinterpret_cast<Word*>(place(id).word(address, sizeof(Word)));
  }

  // Where the words of a class begin.
  struct Place {
    uintptr_t words;  // of the address 0
    unsigned shift;   // a granule is 1 << shift bytes

    uintptr_t word(uintptr_t address, size_t word_bytes) const {
      return words + (address >> shift) * word_bytes;
    }
  };
  static unsigned shift_of(const SizeClass& c) {
    return std::min<unsigned>(c.granule_shift, kMostShift);
  }
  // Of the words for so many bytes of the class's objects.
  uint64_t bytes_for(const SizeClass& c, uint64_t bytes) const {
    return (bytes >> shift_of(c)) * word_bytes_;
  }
  Place place(ClassId id) const { return {words_of_[index(id)], shifts_[index(id)]}; }

  const std::atomic<uint64_t>& committed_bytes() const { return committed_; }
  Mutex mutex;

 private:
  static constexpr unsigned kLeastShift = 4, kMostShift = 18;
  // Bytes of words that are opened at once. Of large words, those for 4 MiB of objects: whoever
  // keeps so much lets objects wait, and may want a slab where nothing can be mapped any more.
  static size_t step(size_t word_bytes, unsigned shift) {
    const size_t large = word_bytes < 16 ? 0 : (size_t{4} << 20 >> shift) * word_bytes;
    return std::max(size_t{64} << 10, large);
  }

  uintptr_t base_ = 0;
  size_t word_bytes_ = 0;
  uintptr_t words_of_[kMaxClasses]{};  // as in Place
  uint8_t shifts_[kMaxClasses]{};
  Owned<uint16_t> nobodys_;  // word of all addresses that no class has, unless blocks have words
  GrowingMemory words_[kMostShift + 1] GUARDED_BY(mutex);  // by shift
  std::atomic<uint64_t> committed_ = 0;
};

}  // namespace pktmalloc
