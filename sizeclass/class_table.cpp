// SPDX-License-Identifier: MIT
#include "sizeclass/class_table.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "sizeclass/rounding.h"

namespace pktmalloc {
namespace {

constexpr size_t kDefaultSizes[] = {
#define CLASS(bytes) bytes,
#include "sizeclass/classes.def"
#undef CLASS
};
constexpr unsigned kDefaultCount = sizeof kDefaultSizes / sizeof kDefaultSizes[0];
static_assert(kDefaultCount < kMaxClasses, "class 63 is kNoClass");

// The smallest slab that wastes less than 3 % after its last object, holds at least four, and is at
// most 1 MiB unless four objects need more. If no size reaches 3 %, the one that wastes least.
unsigned choose_slab_shift(size_t object_bytes, unsigned smallest) {
  constexpr unsigned kLargest = 20;
  unsigned shift = smallest;
  while ((size_t{1} << shift) < 4 * object_bytes) ++shift;
  unsigned best = shift;
  double least = 1.0;
  for (; shift <= std::max(kLargest, best); ++shift) {
    const size_t slab = size_t{1} << shift;
    const double lost = static_cast<double>(slab % object_bytes) / static_cast<double>(slab);
    if (lost < 0.03) return shift;
    if (lost < least) {
      least = lost;
      best = shift;
    }
  }
  return best;
}

}  // namespace

SizeClass ClassTable::describe(size_t object_bytes, unsigned smallest_slab_shift) {
  SizeClass c{};
  c.object_bytes = static_cast<uint32_t>(object_bytes);
  c.slab_shift = static_cast<uint8_t>(choose_slab_shift(object_bytes, smallest_slab_shift));
  c.objects_per_slab = static_cast<uint32_t>((size_t{1} << c.slab_shift) / object_bytes);
  c.reciprocal = ((uint64_t{1} << SizeClass::kDivisionShift) + object_bytes - 1) / object_bytes;
  c.granule_shift = static_cast<uint8_t>(std::bit_width(object_bytes) - 1);
  c.twos = static_cast<uint8_t>(std::countr_zero(object_bytes));
  const uint32_t odd = c.object_bytes >> c.twos;
  c.inverse = odd;  // right in the lowest three bits; each step doubles them
  for (int bits = 3; bits < 32; bits *= 2) c.inverse *= 2 - odd * c.inverse;
  const size_t by_bytes = kMagazineBytesLimit / object_bytes;
  c.largest_rounds =
      static_cast<uint16_t>(std::clamp<size_t>(by_bytes, 1, static_cast<size_t>(kRoundsLimit)));
  c.warm_magazines = static_cast<uint16_t>(kWarmBytes / (c.largest_rounds * object_bytes));
  // Two objects up to 1 KiB, else one: a thousand threads that use a class once should share its
  // pages.
  c.first_rounds = std::max<uint16_t>(1, static_cast<uint16_t>(c.largest_rounds / 128));
  return c;
}

void ClassTable::clear() {
  count_ = 0;
  // Unused classes have areas too, and their addresses a state (object_states.h).
  for (SizeClass& c : classes_) c.granule_shift = std::countr_zero(kSmallStep);
  std::fill(std::begin(small_), std::end(small_), kNoClass);
  std::fill(std::begin(medium_), std::end(medium_), kNoClass);
}

void ClassTable::add_class(size_t bytes, unsigned smallest_slab_shift) {
  bytes = round_up(std::max(bytes, kSmallStep), bytes <= kSmallLimit ? kSmallStep : kMediumStep);
  if (count_ > 0 && classes_[count_ - 1].object_bytes >= bytes) return;  // equal after rounding
  classes_[count_++] = describe(bytes, smallest_slab_shift);
}

void ClassTable::fill_lookup(bool half_full_only) {
  half_full_only_ = half_full_only;
  unsigned id = 0;
  const auto serve = [&](size_t bytes) {
    while (id < count_ && classes_[id].object_bytes < bytes) ++id;
    if (id == count_) return kNoClass;
    if (half_full_only && bytes * 2 < classes_[id].object_bytes) return kNoClass;
    return static_cast<ClassId>(id);
  };
  for (size_t i = 0; i <= kSmallLimit / kSmallStep; ++i) {
    small_[i] = serve(std::max<size_t>(i, 1) * kSmallStep);
  }
  for (size_t i = kSmallLimit / kMediumStep + 1; i <= kMediumLimit / kMediumStep; ++i) {
    medium_[i] = serve(i * kMediumStep);
  }
}

void ClassTable::use_default(unsigned smallest_slab_shift) {
  clear();
  for (const size_t bytes : kDefaultSizes) add_class(bytes, smallest_slab_shift);
  fill_lookup(false);
}

void ClassTable::use_list(const size_t* sizes, unsigned count, unsigned smallest_slab_shift) {
  clear();
  for (unsigned i = 0; i < count && count_ + 1 < kMaxClasses; ++i) {
    add_class(sizes[i], smallest_slab_shift);
  }
  fill_lookup(true);
}

size_t SizeClass::alignment() const {
  return std::min(size_t{1} << std::countr_zero(object_bytes), size_t{1} << slab_shift);
}

ClassId ClassTable::find_aligned(size_t bytes, size_t wanted) const {
  if (wanted > kMediumLimit || bytes > kMediumLimit) return kNoClass;
  // A suitable class is a multiple of the alignment, so none is below the rounded size.
  const size_t least = (std::max<size_t>(bytes, 1) + wanted - 1) & -wanted;
  const ClassId first = find(least);
  if (first == kNoClass) return kNoClass;
  for (unsigned i = index(first); i < count_; ++i) {
    if (half_full_only_ && least * 2 < classes_[i].object_bytes) break;
    if (classes_[i].alignment() >= wanted) return static_cast<ClassId>(i);
  }
  return kNoClass;
}

}  // namespace pktmalloc
