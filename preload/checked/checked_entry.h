// SPDX-License-Identifier: MIT
// Checked entry: replaces fast_path.h in the checked library. The same functions under the same
// names; each notes where it was called from and leaves the rest to checked_entry.cpp.
//
// find_object looks up every pointer that comes in: it may be an object, inside one, or unknown. An
// unknown one goes to the next allocator, as in the normal library, unless it certainly belongs to
// no heap. Raw memory comes from fast_path.h.
#pragma once

#include <cstddef>

#include "preload/process/heap.h"
#include "preload/serving/call.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc::checked {

void* allocate_at(Site site, size_t bytes, Family family);
void* allocate_aligned_at(Site site, size_t alignment, size_t bytes, Family family);
void* allocate_zeroed_at(Site site, size_t bytes);
void* reallocate_at(Site site, void* p, size_t bytes);
// Takes the parts of Told, so that all arguments are in registers.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment);
size_t usable_size_at(Site site, void* p);
void inspect_copy_at(Site site, void* to, size_t bytes);

[[gnu::always_inline]] inline void* allocate_slow(size_t bytes, Family family) {
  return allocate_at(this_site(), bytes, family);
}

inline void* allocate_slow(size_t bytes) { return allocate_slow(bytes, Family::kMalloc); }

template <void* (*kSlow)(size_t)>
[[gnu::always_inline]] inline void* allocate(size_t bytes) {
  return kSlow(bytes);
}

[[gnu::always_inline]] inline void* allocate_zeroed(size_t, size_t, size_t bytes) {
  return allocate_zeroed_at(this_site(), bytes);
}

[[gnu::always_inline]] inline void* allocate_aligned(size_t alignment, size_t bytes,
                                                     Family family) {
  return allocate_aligned_at(this_site(), alignment, bytes, family);
}

[[gnu::always_inline]] inline void* reallocate(void* p, size_t bytes) {
  return reallocate_at(this_site(), p, bytes);
}

[[gnu::always_inline]] inline void release(void* p, const Told& told = {}) {
  release_at(this_site(), p, told.family, told.bytes, told.alignment);
}

// What the classes are asked for on behalf of a request of so many bytes.
size_t room_for(size_t bytes);

// Each object of a batch is dressed, or looked at, by itself.
inline size_t allocate_run(size_t, void**, size_t) { return 0; }
inline size_t release_run(void* const*, size_t) { return 0; }

[[gnu::always_inline]] inline size_t usable_size(void* p) { return usable_size_at(this_site(), p); }

// Before so many bytes are written there: do they lie in one live object, if in the pool?
[[gnu::always_inline]] inline void inspect_copy(void* to, size_t bytes) {
  if (bytes > 0 && Heap::is_class(heap.owner(to))) inspect_copy_at(this_site(), to, bytes);
}

}  // namespace pktmalloc::checked
