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
// Whoever hands objects out and takes them back sets the states (preload/hardened). A canary lies
// behind the object's bytes, and is no concern of the engine's. An area opens
// the words of a piece with the piece's first slab; those of others may not even be read. (If they
// could, a program that locks its memory would get all of them.) Optional: a heap that was not
// asked for states has none.
#pragma once

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

  // For addresses from `base` on, in pieces of 1 << piece_shift (stripes.h). False when the system
  // refuses.
  static size_t bytes_for(size_t bytes) { return bytes / kLeastGranule * sizeof(uint16_t); }
  bool reserve(uintptr_t base, size_t bytes, unsigned piece_shift);
  void release();
  bool exist() const { return bytes_ != 0; }

  // Opens the piece with this address, the area's next one. `make_usable` is memory::commit or map.
  bool open(uintptr_t address, unsigned granule_shift, bool (*make_usable)(void*, size_t));
  // Pieces are numbered by address; those of area i are i, i + kMaxClasses and so on.
  bool is_open(uintptr_t piece) const {
    return piece < open_[piece % kMaxClasses].load(std::memory_order_relaxed);
  }

  // Where an address lies: its distance from the first one, in pieces of 1 << piece_shift, in an
  // area with granules of 1 << granule_shift. Callers on the fast path know most of that already.
  struct Place {
    uintptr_t distance;
    unsigned piece_shift, granule_shift;
  };
  Entry entry(uintptr_t address, const Place& place) const {
    return {*reinterpret_cast<std::atomic<uint16_t>*>(word(place)), address};
  }

  size_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }

  // Calls keep(start, bytes) for the words of all open pieces, in ascending order.
  template <typename Keep>
  void each_open(const ClassTable& classes, Keep keep) const {
    for (uintptr_t piece = 0; piece < bytes_ / piece_bytes(); ++piece) {
      const ClassId id = static_cast<ClassId>(piece % kMaxClasses);
      if (is_open(piece)) {
        keep(start_ + piece * piece_bytes(), open_bytes(classes[id].granule_shift));
      }
    }
  }
  uintptr_t begin() const { return start_; }
  uintptr_t end() const { return start_ + bytes_; }

 private:
  static constexpr size_t kLeastGranule = 16;

  // A piece's words take an eighth of its bytes, if its granules are the least ones.
  size_t piece_bytes() const { return bytes_for(size_t{1} << piece_shift_); }
  size_t open_bytes(unsigned granule_shift) const {
    return round_up((size_t{1} << piece_shift_ >> granule_shift) * sizeof(uint16_t),
                    memory::page_bytes());
  }
  uintptr_t word(const Place& at) const {
    const uintptr_t in_piece = at.distance & ((uintptr_t{1} << at.piece_shift) - 1);
    return start_ + (at.distance - in_piece) / 8 +
           (in_piece >> at.granule_shift) * sizeof(uint16_t);
  }

  uintptr_t base_ = 0;
  unsigned piece_shift_ = 0;
  uintptr_t start_ = 0;
  size_t bytes_ = 0;
  std::atomic<size_t> committed_ = 0;
  std::atomic<uint64_t> open_[kMaxClasses]{};  // by area: pieces below are open
};

}  // namespace pktmalloc
