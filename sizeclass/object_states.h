// SPDX-License-Identifier: MIT
// ObjectStates: which addresses are objects, and whether those are in use; far from the objects.
//
//     | state of an object | its address / 16, lowest 14 bits |    a word of 16 bits
//
// The word's place follows from the address. An area is divided into granules, of the largest power
// of two that is not above the object size: no two objects begin in the same one, and each granule
// has a word. So one load tells whether an object in use begins at an address. A word of another
// address, in the middle of an object or never handed out, differs: granules have at most 256 KiB.
//
//     region of granules of 16:  | piece 0 | piece 1 | ... | last piece |
//     region of granules of 32:  | 0 | 1 | ...  |
//
// Areas with equal granules share a region, which has room for the words of all addresses: a shift
// and an addition find a word. What lies between the pieces of those areas is never touched.
//
// Whoever hands objects out and takes them back sets the states (preload/hardened). A canary lies
// behind the object's bytes, and is no concern of the engine's. An area opens the words of its
// slabs as it grows, some ahead; those of others may not even be read. (If they could, a program
// that locks its memory would get all of them.) Optional: a heap that was not asked for states has
// none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sizeclass/class_table.h"
#include "sizeclass/memory.h"
#include "sizeclass/rounding.h"

namespace pktmalloc {

class ObjectStates {
 public:
  enum State : uint16_t { kNone, kLive, kFreed, kLiveWithCanary };

  // A plain load and store: an object has one owner at a time. `address` is a multiple of 16.
  class Entry {
   public:
    Entry(std::atomic<uint16_t>& word, uintptr_t address)
        : word_(word), key_(static_cast<uint16_t>(address >> 4 << 2)) {}
    bool is(State state) const { return word_.load(std::memory_order_relaxed) == (key_ | state); }
    State state() const {
      const unsigned found = word_.load(std::memory_order_relaxed) ^ unsigned { key_ };
      return found <= kLiveWithCanary ? static_cast<State>(found) : kNone;
    }
    // Only where an object of a committed slab begins.
    void set(State state) const {
      word_.store(static_cast<uint16_t>(key_ | state), std::memory_order_relaxed);
    }

   private:
    std::atomic<uint16_t>& word_;
    const uint16_t key_;
  };

  constexpr ObjectStates() = default;

  // For addresses from `base` on, in pieces of 1 << piece_shift (stripes.h), `base` a multiple of
  // all granules. False when the system refuses.
  static size_t bytes_for(size_t bytes, unsigned piece_shift);
  bool reserve(uintptr_t base, size_t bytes, unsigned piece_shift, const ClassTable& classes);
  void release();
  bool exist() const { return bytes_ != 0; }

  // Opens the words of all addresses of an area up to `end`, which lies in its latest piece or
  // behind it. `make_usable` is memory::commit or map.
  bool open(uintptr_t end, bool (*make_usable)(void*, size_t));
  // Is the word open of the address that lies so far behind the first one, in that area? Pieces are
  // numbered by address; those of area i are i, i + kMaxClasses and so on.
  bool is_open(uintptr_t area, uintptr_t distance) const {
    return distance < areas_[area].open.load(std::memory_order_relaxed);
  }

  Entry entry(ClassId id, uintptr_t address) const {
    return {*reinterpret_cast<std::atomic<uint16_t>*>(word(areas_[index(id)], address)), address};
  }

  size_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }

  // Calls keep(start, bytes) for the words of all open pieces, in ascending order.
  template <typename Keep>
  void each_open(Keep keep) const {
    for (unsigned shift = kLeastShift; shift <= most_shift(piece_shift_); ++shift) {
      for (uintptr_t piece = 0; piece < pieces_; ++piece) {
        const Area& area = areas_[piece % kMaxClasses];
        const uintptr_t begin = piece << piece_shift_, end = begin + piece_bytes();
        const uintptr_t open = std::min(end, area.open.load(std::memory_order_relaxed));
        if (area.shift == shift && open > begin) {
          keep(word(area, base_ + begin), words_bytes(open - begin, shift));
        }
      }
    }
  }
  uintptr_t begin() const { return start_; }
  uintptr_t end() const { return start_ + bytes_; }

 private:
  static constexpr unsigned kLeastShift = 4;

  struct alignas(32) Area {
    uintptr_t words = 0;              // of the address 0
    std::atomic<uintptr_t> open = 0;  // words of addresses up to here, counted from base_
    unsigned shift = 0;               // a granule is 1 << shift bytes
  };

  // With larger granules the words of a piece would be less than a page.
  static unsigned most_shift(unsigned piece_shift);
  static size_t words_bytes(size_t bytes, unsigned shift) {
    return (bytes >> shift) * sizeof(uint16_t);
  }
  size_t piece_bytes() const { return size_t{1} << piece_shift_; }
  static uintptr_t word(const Area& area, uintptr_t address) {
    return area.words + words_bytes(address, area.shift);
  }

  Area areas_[kMaxClasses];
  uintptr_t base_ = 0;
  uintptr_t pieces_ = 0;
  unsigned piece_shift_ = 0;
  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  std::atomic<size_t> committed_ = 0;
};

}  // namespace pktmalloc
