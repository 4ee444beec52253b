// SPDX-License-Identifier: MIT
// Twin calls: what the hardened and the checked library have in place of fast_path.h. They look at
// each call, so each function here gets where it was called from: the default argument is right
// where the caller is inlined into the exported function. One of them defines what is declared
// here. The hardened library has allocate() and release() of its own.
#pragma once

#include <cstddef>

#include "preload/process/thread.h"
#include "preload/serving/call.h"
#include "preload/stacks/stacks.h"

namespace pktmalloc::twin {

void* allocate_slow(size_t bytes, Family family, Site site = this_site());
void* allocate_zeroed(size_t bytes, Site site = this_site());
void* allocate_aligned(size_t alignment, size_t bytes, Family family, Site site = this_site());
void* reallocate(void* p, size_t bytes, Site site = this_site());
// Takes the parts of Told, so that all arguments are in registers.
void release_at(Site site, void* p, Family family, size_t bytes, size_t alignment);
size_t usable_size(void* p, Site site = this_site());
// So many bytes, not 0, are about to be written there, in a slab of the class.
void inspect_copy_at(Site site, void* to, size_t bytes, ClassId id);
// What the classes are asked for on behalf of a request of so many bytes.
size_t room_for(size_t bytes);

[[gnu::always_inline]] inline void* allocate_slow(size_t bytes) {
  return twin::allocate_slow(bytes, Family::kMalloc);
}

template <void* (*kSlow)(size_t)>
[[gnu::always_inline]] inline void* allocate(size_t bytes) {
  return kSlow(bytes);
}
[[gnu::always_inline]] inline void release(void* p, const Told& told = {}) {
  release_at(this_site(), p, told.family, told.bytes, told.alignment);
}

// Each object of a batch is looked at by itself.
inline size_t allocate_run(size_t, void**, size_t) { return 0; }
inline size_t release_run(void* const*, size_t) { return 0; }

[[gnu::always_inline]] inline void inspect_copy(void* to, size_t bytes) {
  const ClassId id = heap.class_of(to);
  if (bytes > 0 && id != kNoClass) inspect_copy_at(this_site(), to, bytes, id);
}

}  // namespace pktmalloc::twin
