// SPDX-License-Identifier: MIT
// Checked entry: the calls of the checked library (serving/twin_calls.h).
//
// find_object looks up every pointer that comes in: it may be an object, inside one, or unknown. An
// unknown one goes to the next allocator, as in the normal library, unless it certainly belongs to
// no heap. Raw memory comes from fast_path.h.
#pragma once

#include "preload/serving/twin_calls.h"

namespace pktmalloc::checked {

using namespace twin;

template <void* (*kSlow)(size_t)>
[[gnu::always_inline]] inline void* allocate(size_t bytes) {
  return kSlow(bytes);
}
[[gnu::always_inline]] inline void release(void* p, const Told& told = {}) {
  release_at(this_site(), p, told.family, told.bytes, told.alignment);
}

}  // namespace pktmalloc::checked
