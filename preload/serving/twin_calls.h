// SPDX-License-Identifier: MIT
// Twin calls: what the hardened and the checked library have in place of fast_path.h. They look at
// each call, so each function here notes where it was called from and leaves the rest to one of
// them, which defines what is declared here. Both have allocate() and release() of their own.
#pragma once

#include <cstddef>

#include "preload/process/heap.h"
#include "preload/serving/call.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc::twin {

void* allocate_at(Site site, size_t bytes, Family family);
void* allocate_zeroed_at(Site site, size_t bytes);
void* allocate_aligned_at(Site site, size_t alignment, size_t bytes, Family family);
void* reallocate_at(Site site, void* p, size_t bytes);
// Takes the parts of Told, so that all arguments are in registers.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment);
size_t usable_size_at(Site site, void* p);
// So many bytes, not 0, are about to be written there, in a slab of the class.
void inspect_copy_at(Site site, void* to, size_t bytes, ClassId id);
// What the classes are asked for on behalf of a request of so many bytes.
size_t room_for(size_t bytes);

[[gnu::always_inline]] inline void* allocate_slow(size_t bytes, Family family) {
  return allocate_at(this_site(), bytes, family);
}
[[gnu::always_inline]] inline void* allocate_slow(size_t bytes) {
  return allocate_at(this_site(), bytes, Family::kMalloc);
}
[[gnu::always_inline]] inline void* allocate_zeroed(size_t bytes) {
  return allocate_zeroed_at(this_site(), bytes);
}
[[gnu::always_inline]] inline void* allocate_aligned(size_t alignment, size_t bytes,
                                                     Family family) {
  return allocate_aligned_at(this_site(), alignment, bytes, family);
}
[[gnu::always_inline]] inline void* reallocate(void* p, size_t bytes) {
  return reallocate_at(this_site(), p, bytes);
}
[[gnu::always_inline]] inline size_t usable_size(void* p) { return usable_size_at(this_site(), p); }

// Each object of a batch is looked at by itself.
inline size_t allocate_run(size_t, void**, size_t) { return 0; }
inline size_t release_run(void* const*, size_t) { return 0; }

[[gnu::always_inline]] inline void inspect_copy(void* to, size_t bytes) {
  const uintptr_t owner = heap.owner(to);
  if (bytes > 0 && Heap::is_class(owner)) {
    inspect_copy_at(this_site(), to, bytes, static_cast<ClassId>(owner));
  }
}

}  // namespace pktmalloc::twin
