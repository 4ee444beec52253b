// SPDX-License-Identifier: MIT
// ClassTuner: the class table that fits a recording best.
//
// Best means: first, the fewest calls that no class serves; then, the fewest bytes of pages that
// the objects of the peak need beyond what was asked for (page_bytes() of table_fit.h: lost to
// rounding, behind the last object of a slab, on the last page of a class; so a class must earn its
// page); then, the fewest classes. Found by dynamic programming over all tables, so no table is
// better, with one reservation: a table counts only if every aligned request suits the class just
// above it. (The allocator would go on to a larger one that suits; so what the table does is at
// least as good as what was counted.)
//
// The rules of the engine that it knows (sizeclass/slabs/class_table.cpp): sizes are multiples of
// 16 up to 32 KiB and of 4 KiB above; a class serves requests that fill half of it; an object's
// alignment is the largest power of two that divides the size of its class; slabs are chosen so
// that as many objects of a larger class never need fewer pages. Change them here with them there;
// table_fit.h asks the engine itself, and tests/tune_test.cpp holds the two together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/command/tune/size_recording.h"

namespace pktmalloc {

struct TuningLimits {
  unsigned classes = 63;       // at most
  size_t largest = 256 << 10;  // requests above stay with the next allocator
  std::vector<size_t> kept;    // sizes that must be in the table; at most `classes`
};

// Bytes lost at the peak if there were a class for every size that a class can have.
uint64_t least_rounding(const std::vector<SizeRecord>& sizes, size_t largest);

// Sizes of the classes, ascending.
std::vector<size_t> tune(const std::vector<SizeRecord>& sizes, const TuningLimits& limits);

}  // namespace pktmalloc
