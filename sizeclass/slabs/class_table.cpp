// SPDX-License-Identifier: MIT
#include "sizeclass/slabs/class_table.h"

#include <algorithm>
#include <iterator>

#include "sizeclass/base/arithmetic.h"

namespace pktmalloc {
namespace {

constexpr size_t kDefaultSizes[] = {
#define CLASS(bytes) bytes,
#include "sizeclass/slabs/classes.def"
#undef CLASS
};
static_assert(std::size(kDefaultSizes) < kMaxClasses, "one number is kNoClass");

// The smallest slab that wastes less than 3 % after its last object, holds at least four, and is at
// most 16 units unless four objects need more. If no size reaches 3 %, the one that wastes least.
// For each unit a whole page behind the last object does not count: nobody touches it, so it takes
// memory only if another class has had the unit.
constexpr unsigned choose_units(size_t object_bytes, unsigned unit_shift) {
  constexpr size_t kLargest = 16, kPage = 4096;
  const size_t least = ((4 * object_bytes - 1) >> unit_shift) + 1;
  size_t best = least;
  double least_lost = 1.0;
  for (size_t units = least; units <= std::max(kLargest, least); ++units) {
    const size_t slab = units << unit_shift;
    const size_t rest = slab % object_bytes, pages = std::min(rest / kPage, units);
    const double lost = static_cast<double>(rest - pages * kPage) / static_cast<double>(slab);
    if (lost >= least_lost) continue;
    least_lost = lost;
    best = units;
    if (lost < 0.03) break;
  }
  return static_cast<unsigned>(best);
}

constexpr SizeClass described(size_t object_bytes, unsigned unit_shift) {
  SizeClass c{};
  c.object_bytes = static_cast<uint32_t>(object_bytes);
  c.units = static_cast<uint8_t>(choose_units(object_bytes, unit_shift));
  c.objects_per_slab = static_cast<uint32_t>((size_t{c.units} << unit_shift) / object_bytes);
  c.reciprocal = ((uint64_t{1} << SizeClass::kDivisionShift) + object_bytes - 1) / object_bytes;
  c.granule_shift = static_cast<uint8_t>(std::bit_width(object_bytes) - 1);
  c.twos = static_cast<uint8_t>(std::countr_zero(object_bytes));
  const uint32_t odd = c.object_bytes >> c.twos;
  c.inverse = odd;  // right in the lowest three bits; each step doubles them
  for (int bits = 3; bits < 32; bits *= 2) c.inverse *= 2 - odd * c.inverse;
  c.sharers = static_cast<uint8_t>(object_bytes < 64 ? 64 >> c.twos : 1);
  const auto rounds_in = [=](size_t bytes) {
    return static_cast<uint16_t>(
        std::clamp<size_t>(bytes / object_bytes, 1, ClassTable::kRoundsLimit));
  };
  // A thousand threads that use a class once should share its pages.
  c.first_rounds = object_bytes <= 1024 ? 2 : 1;
  c.usual_rounds = rounds_in(ClassTable::kUsualMagazineBytes);
  c.largest_rounds = rounds_in(ClassTable::kMagazineBytesLimit);
  return c;
}

}  // namespace

SizeClass ClassTable::describe(size_t object_bytes, unsigned unit_shift) {
  return described(object_bytes, unit_shift);
}

constexpr void ClassTable::use(const size_t* sizes, unsigned count, unsigned unit_shift,
                               bool half_full_only, size_t beside) {
  std::fill(std::begin(small_), std::end(small_), kNoClass);
  std::fill(std::begin(medium_), std::end(medium_), kNoClass);
  count_ = 0;
  half_full_only_ = half_full_only;
  size_t least = 1;  // of what the class serves
  for (unsigned i = 0; i < count && count_ + 1 < kMaxClasses; ++i) {
    const bool has_room = half_full_only || i + 1 == count;
    const size_t wanted = std::clamp(sizes[i] + (has_room ? beside : 0), kSmallStep, kMediumLimit);
    const size_t bytes = round_up(wanted, wanted <= kSmallLimit ? kSmallStep : kMediumStep);
    if (bytes < least) continue;  // equal to the class before after rounding
    const auto id = static_cast<ClassId>(++count_);
    classes_[count_] = described(bytes, unit_shift);
    if (half_full_only) least = std::max(least, bytes / 2);
    const auto fill = [=](ClassId* lookup, size_t step, size_t limit) {
      const size_t first = (least + step - 1) / step, end = std::min(bytes, limit) / step + 1;
      if (first < end) std::fill(lookup + first, lookup + end, id);
    };
    fill(small_, kSmallStep, kSmallLimit);
    fill(medium_, kMediumStep, kMediumLimit);
    least = bytes + 1;
  }
  small_[0] = small_[1];
}

// Made by the compiler, because every process begins with it.
void ClassTable::use_default(size_t beside) {
  static constexpr ClassTable kMade = [] {
    ClassTable table;
    table.use(kDefaultSizes, std::size(kDefaultSizes), kUnitShift, false, 0);
    return table;
  }();
  if (beside != 0) return use(kDefaultSizes, std::size(kDefaultSizes), kUnitShift, false, beside);
  std::copy_n(&kMade, 1, this);  // assigned, it would be made again by instructions
}

void ClassTable::use_list(const size_t* sizes, unsigned count, unsigned unit_shift, size_t beside) {
  use(sizes, count, unit_shift, true, beside);
}

size_t SizeClass::alignment() const {
  return size_t{1} << std::min<unsigned>(twos, ClassTable::kUnitShift);
}

ClassId ClassTable::find_aligned(size_t bytes, size_t wanted) const {
  if (wanted <= kSmallStep) return find(bytes);
  if (wanted > kMediumLimit || bytes > kMediumLimit) return kNoClass;
  // A suitable class is a multiple of the alignment, so none is below the rounded size.
  const size_t least = (std::max<size_t>(bytes, 1) + wanted - 1) & -wanted;
  const ClassId first = find(least);
  if (first == kNoClass) return kNoClass;
  for (unsigned i = index(first); i <= count_; ++i) {
    if (half_full_only_ && least * 2 < classes_[i].object_bytes) break;
    if (classes_[i].alignment() >= wanted) return static_cast<ClassId>(i);
  }
  return kNoClass;
}

}  // namespace pktmalloc
