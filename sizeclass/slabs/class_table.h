// SPDX-License-Identifier: MIT
// ClassTable: which sizes are pooled, and the geometry of each class.
//
// Built once, before any thread reads it, from the default table (classes.def) or the user's list;
// never written again, so every thread reads it without a lock. A lookup is one byte load: sizes up
// to 32 KiB in steps of 16 bytes, above that up to 1 MiB in steps of 4 KiB. describe() computes
// everything that follows from a class's size (slab size, objects per slab, division constant,
// magazine rounds): change such a rule there and nowhere else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sizeclass/base/class_id.h"

namespace pktmalloc {

struct SizeClass {
  uint32_t object_bytes;
  uint32_t objects_per_slab;
  uint64_t reciprocal;      // ceil(2^kDivisionShift / object_bytes)
  uint32_t inverse;         // of the odd part of object_bytes, modulo 2^32
  uint8_t twos;             // the other part is 2^twos
  uint8_t units;            // of a slab (slab_pool.h)
  uint16_t first_rounds;    // rounds of a thread's first magazine
  uint16_t usual_rounds;    // its magazines grow to this many in any thread
  uint16_t largest_rounds;  // and to this many in a busy one
  uint8_t granule_shift;    // 1 << this is the largest power of two <= object_bytes
  uint8_t sharers;          // of less than a cache line: so many in a row share none with others

  // Division by multiplication (Granlund & Montgomery 1994). Exact because offset < 2^22 (the
  // largest slab) and the error per unit is < object_bytes <= 2^20: 2^22 * 2^20 < 2^44.
  static constexpr unsigned kDivisionShift = 44;
  uint32_t object_index(uint64_t offset_in_slab) const {
    return static_cast<uint32_t>((offset_in_slab * reciprocal) >> kDivisionShift);
  }

  // The number of the object that begins there; objects_per_slab or more: none does. The product of
  // a multiple of the size with the inverse, turned right by the power of two, is the quotient;
  // that of all others is larger than any (the same).
  uint32_t exact_index(uint32_t offset_in_slab) const {
    return std::rotr(offset_in_slab * inverse, twos);
  }

  // Every object starts at a multiple of this power of two, in bytes; at most a unit.
  size_t alignment() const;
};

class ClassTable {
 public:
  static constexpr size_t kSmallStep = 16;
  static constexpr size_t kSmallLimit = size_t{32} << 10;
  static constexpr size_t kMediumStep = 4096;
  static constexpr size_t kMediumLimit = size_t{1} << 20;
  static constexpr unsigned kRoundsLimit = 256;
  // Of objects in one magazine: of any thread, of a busy one.
  static constexpr size_t kUsualMagazineBytes = size_t{32} << 10;
  static constexpr size_t kMagazineBytesLimit = size_t{256} << 10;

  // A slab's units are 1 << kUnitShift bytes; tests use less.
  static constexpr unsigned kUnitShift = 16;

  // The table of classes.def: every size up to kDefaultLimit is pooled, and in the largest class so
  // many bytes beside it.
  static constexpr size_t kDefaultLimit = size_t{256} << 10;
  void use_default(size_t beside = 0);

  // Only these classes: sizes ascending, each at most kMediumLimit, fewer than kMaxClasses. Sizes
  // are rounded up to the lookup step, with so many bytes beside them as far as that limit goes. A
  // class serves requests that fill at least half of it.
  void use_list(const size_t* sizes, unsigned count, unsigned unit_shift = kUnitShift,
                size_t beside = 0);

  // The classes of magazines: exact sizes, no lookup by size.
  static SizeClass describe(size_t object_bytes, unsigned unit_shift);

  // Precondition: bytes <= kSmallLimit.
  ClassId small(size_t bytes) const { return small_[(bytes + kSmallStep - 1) / kSmallStep]; }

  // Any size; kNoClass when none serves it.
  ClassId find(size_t bytes) const {
    if (bytes <= kSmallLimit) return small(bytes);
    if (bytes <= kMediumLimit) return medium_[(bytes + kMediumStep - 1) / kMediumStep];
    return kNoClass;
  }

  // Like find(), but objects lie at multiples of `alignment` (a power of two).
  ClassId find_aligned(size_t bytes, size_t alignment) const;

  unsigned count() const { return count_; }
  constexpr ClassIds ids() const { return {kClassIds.data(), count_}; }
  // Object size of the largest class.
  size_t largest() const { return classes_[count_].object_bytes; }
  const SizeClass& operator[](ClassId id) const { return classes_[index(id)]; }

 private:
  constexpr void use(const size_t* sizes, unsigned count, unsigned unit_shift, bool half_full_only,
                     size_t beside);

  ClassId small_[kSmallLimit / kSmallStep + 1]{};
  ClassId medium_[kMediumLimit / kMediumStep + 1]{};
  unsigned count_ = 0;
  bool half_full_only_ = false;       // custom classes: see use_list()
  SizeClass classes_[kMaxClasses]{};  // by id: the first one is none
};

}  // namespace pktmalloc
