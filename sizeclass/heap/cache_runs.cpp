// SPDX-License-Identifier: MIT
// Runs of a cache: many objects at once, copied from and to a magazine. Four at a time, because a
// loop for each would cost as much as what it does.
#include <algorithm>
#include <atomic>

#include "sizeclass/heap/cache.h"

namespace pktmalloc {

size_t Cache::allocate_run(ClassId id, void** objects, size_t count) {
  const size_t i = static_cast<size_t>(id);
  uintptr_t* top = tops_[i];
  size_t n = 0;
  const auto take = [&](uintptr_t object) { objects[n++] = reinterpret_cast<void*>(object); };
  const auto holds = [&](int k) { return top[-k] != kEmptyMark; };
  while (count - n >= 4 && holds(0) && holds(1) && holds(2) && holds(3)) {
    take(top[0]), take(top[-1]), take(top[-2]), take(top[-3]);
    for (int k = 0; k < 4; ++k) machine::prefetch_for_writing(top[-k - kAhead]);
    top -= 4;
  }
  while (n < count && *top != kEmptyMark) take(*top--);
  if (n == 0) return 0;  // perhaps on the null cache, which is constant
  std::atomic_signal_fence(std::memory_order_release);  // no signal finds an object missing
  tops_[i] = top;
  allocated_[i] += n;
  return n;
}

size_t Cache::release_run(ClassId id, void* const* objects, size_t count, unsigned unit_shift) {
  const size_t i = static_cast<size_t>(id);
  Magazine* const loaded = lines_[i].loaded;
  if (loaded == nullptr) return 0;
  uintptr_t* top = tops_[i];
  count = std::min(count, static_cast<size_t>(loaded->slots() + loaded->capacity - top));
  const auto at = [=](size_t n) { return reinterpret_cast<uintptr_t>(objects[n]); };
  const uintptr_t first = at(0);
  size_t n = 0;
  while (count - n >= 4) {
    const uintptr_t a = at(n), b = at(n + 1), c = at(n + 2), d = at(n + 3);
    if (((a ^ first) | (b ^ first) | (c ^ first) | (d ^ first)) >> unit_shift != 0) break;
    if (a == *top || b == a || c == b || d == c) break;
    top[1] = a, top[2] = b, top[3] = c, top[4] = d;
    top += 4;
    n += 4;
  }
  while (n < count && (at(n) ^ first) >> unit_shift == 0 && at(n) != *top) *++top = at(n++);
  if (n == 0) return 0;
  std::atomic_signal_fence(std::memory_order_release);
  tops_[i] = top;
  return n;
}

}  // namespace pktmalloc
