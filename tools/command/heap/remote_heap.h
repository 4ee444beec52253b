// SPDX-License-Identifier: MIT
// RemoteHeap: which objects of another process are live. The only place outside the engine that
// knows how the engine says so: a change of what the window names (sizeclass/heap/heap_window.h)
// ends here.
//
//     live  =  in a slab that a class has,  not free in the slab's record,  in no magazine of a
//              cache or of the depot,  and in use by its state, where there are states
//
// copy() is quick, for the process stands still meanwhile; find_live() takes its time. Memory that
// serves no object of a class, larger blocks for instance, is not seen.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "preload/formats/live_window.h"
#include "sizeclass/heap/heap.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

class RemoteHeap {
 public:
  // Throws Failure when the window makes no sense.
  RemoteHeap(const Window& window, const RemoteMemory& memory);

  // Everything that tells which objects are free; of slabs and depots only what changed since the
  // copy before. False: a thread was about to move some from list to list, so that for a moment
  // they seem live; then there is nothing to be found yet, unless `anyhow`.
  bool copy(bool anyhow);
  void find_live();

  struct Slab {
    unsigned of;  // the class, from 0
    uint64_t start;
    size_t bits;  // where those of its objects begin
  };
  const std::vector<Slab>& slabs() const { return slabs_; }
  const SizeClass& size_class(unsigned of) const { return classes_[of]; }
  unsigned classes() const { return static_cast<unsigned>(window_.classes); }
  uint64_t slab_bytes(const Slab& slab) const { return window_.slab_bytes[slab.of]; }
  bool is_live(const Slab& slab, uint32_t object) const {
    return (live_[slab.bits + object / 64] >> object % 64 & 1) != 0;
  }
  uint32_t live_objects(const Slab& slab) const;
  // Bytes from an object's start to the program's; the checked library has a canary before them.
  uint32_t program_bytes_at(uint64_t object) const;

  // Calls visit(object, address) for the live ones of a slab.
  template <typename Visit>
  void each_live(const Slab& slab, Visit visit) const {
    const SizeClass& c = classes_[slab.of];
    for (uint32_t w = 0; w * 64 < c.objects_per_slab; ++w) {
      for (uint64_t word = live_[slab.bits + w]; word != 0; word &= word - 1) {
        const uint32_t object = w * 64 + static_cast<uint32_t>(std::countr_zero(word));
        visit(object, slab.start + uint64_t{object} * c.object_bytes);
      }
    }
  }

  // The slab that holds the address, or nullptr.
  const Slab* slab_at(uint64_t address) const {
    const uint64_t unit = (address - window_.units) >> kUnitShift;
    if (unit >= slab_of_unit_.size() || slab_of_unit_[unit] == SlabPool::kNone) return nullptr;
    return &slabs_[slab_of_unit_[unit]];
  }
  // All addresses of slabs.
  struct Range {
    uint64_t begin, end;
  };
  Range units() const { return {window_.units, window_.units + (map_.size() << kUnitShift)}; }
  // Those of slabs, of magazines and of caches: what is there is nobody's but the library's.
  std::vector<Range> own_memory() const;
  // A number for every object, below numbers().
  size_t number(const Slab& slab, uint32_t object) const { return slab.bits * 64 + object; }
  size_t numbers() const { return live_.size() * 64; }

  static constexpr unsigned kUnitShift = SlabPool::kUnitShift;

  // Live objects of the class that others serve, samples of a heap profile for instance. Nobody
  // outside knows where they are.
  uint64_t outside(unsigned of) const { return outside_[of]; }
  // Objects handed out so far: the difference of two tells how much went on between them.
  uint64_t allocated() const { return allocated_; }
  // Units that a class has, as copied: where objects may be.
  template <typename Visit>
  void each_owned_unit(Visit visit) const {
    for (size_t n = 0; n < map_.size(); ++n) {
      if (map_[n].owner != 0) visit(window_.units + (n << kUnitShift));
    }
  }

 private:
  struct Held {
    unsigned of;
    uint64_t magazine;
    uint64_t top;  // 0: the magazine tells how many objects it has
  };
  struct Lone {
    unsigned of;
    uint64_t object;
  };

  bool copy_caches(uint64_t first, uint64_t bytes);
  void copy_map(uint64_t units);
  void copy_records(const std::vector<bool>& changed);
  void copy_magazines(uint64_t bytes, bool changed);
  void copy_marks();
  void copy_states();
  size_t record_at(unsigned of, uint32_t n) const;  // in records_
  const Magazine* magazine(uint64_t address) const;
  void find_slabs();
  bool is_whole(uint32_t first) const;  // the slab that begins with the unit
  void take_out(unsigned of, uint64_t object);
  void take_out_magazine(const Held& held);
  void take_out_depots();
  // The full magazines there.
  template <typename Visit>
  void each_in_mail(unsigned of, unsigned home, Visit visit) const {
    const Mail& mail = mails_[home * kMaxClasses + of + 1];
    for (unsigned n = 0; n < Mail::kWords; ++n) {
      if (Mail::is_full(mail.word(n))) visit(mail.word(n));
    }
  }
  const char* state_of(uint64_t object, unsigned of) const;
  void use_states();
  void set_free(const Slab& slab, uint32_t object) {
    live_[slab.bits + object / 64] &= ~(uint64_t{1} << object % 64);
  }

  const HeapWindow& window_;
  const LibraryKind kind_;
  const LibraryNames& library_ = names_of(kind_);
  const RemoteMemory& memory_;
  std::vector<SizeClass> classes_;
  uint32_t first_unit_ = 0;

  // As copied.
  std::vector<SlabPool::Entry> map_;  // from first_unit_ on
  std::vector<char> records_;         // from the chapter of first_unit_ on
  std::vector<char> magazines_;       // from window_.magazine_units on
  std::vector<AreaStatistics> areas_;
  static constexpr size_t kMails = size_t{ShardedStack::kShards} * kMaxClasses;
  std::unique_ptr<ShardedStack[]> depots_;
  std::unique_ptr<Mail[]> mails_;  // by home and class
  std::vector<uint64_t> heads_;    // of the depots' stacks
  Range caches_{};
  std::vector<Held> held_;
  std::vector<Lone> lone_;
  std::vector<uint64_t> marks_;  // the addresses of caches' marks
  std::vector<char> states_;
  std::vector<size_t> states_of_unit_;  // where those of a unit begin; none without states
  std::vector<uint64_t> outside_;
  uint64_t allocated_ = 0;

  std::vector<Slab> slabs_;
  std::vector<uint32_t> slab_of_unit_;  // from first_unit_ on; SlabPool::kNone
  std::vector<uint64_t> live_;
};

}  // namespace pktmalloc
