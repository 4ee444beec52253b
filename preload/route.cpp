// SPDX-License-Identifier: MIT
#include "preload/route.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/background.h"
#include "preload/next_allocator.h"
#include "preload/reporter.h"
#include "preload/thread.h"

namespace pktmalloc {
namespace {

constinit PassCounts passes{};

void count_pass(PassReason reason, size_t bytes) {
  const auto band = std::lower_bound(kSizeBandEnd, kSizeBandEnd + kSizeBands - 1, bytes);
  passes[static_cast<unsigned>(reason)][band - kSizeBandEnd].fetch_add(1,
                                                                       std::memory_order_relaxed);
}

void* allocate_pooled(ClassId id) {
  Cache* cache = cache_of_this_thread();
  void* p = heap.allocate(cache, id);
  publish(cache);
  background_consider();
  reporter_consider();
  return p;
}

// An object of the class that find() names, or nullptr after counting why there is none.
template <typename Find>
void* try_classes(size_t bytes, PassReason otherwise, Find find) {
  if (this_thread.forking) return nullptr;  // the next allocator's locks are free
  cache_of_this_thread();  // the first request of all starts the process: then there are classes
  const ClassId id = find();
  if (id == kNoClass) {
    count_pass(!heap.started()                    ? PassReason::kNotReserved
               : bytes > heap.classes().largest() ? PassReason::kTooLarge
                                                  : otherwise,
               bytes);
    return nullptr;
  }
  void* p = allocate_pooled(id);
  if (p == nullptr) count_pass(PassReason::kExhausted, bytes);
  return p;
}

}  // namespace

void* allocate_slow(size_t bytes) {
  void* p = try_classes(bytes, PassReason::kClassOff, [&] { return heap.classes().find(bytes); });
  return p != nullptr ? p : next_allocator().allocate(bytes);
}

void* allocate_zeroed_slow(size_t count, size_t bytes_each, size_t bytes) {
  void* p = try_classes(bytes, PassReason::kClassOff, [&] { return heap.classes().find(bytes); });
  return p != nullptr ? memset(p, 0, bytes) : next_allocator().allocate_zeroed(count, bytes_each);
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  void* p = try_classes(bytes, PassReason::kTooAligned,
                        [&] { return heap.classes().find_aligned(bytes, alignment); });
  if (p != nullptr) return p;
  return next_allocator().allocate_aligned(std::max(alignment, sizeof(void*)), bytes);
}

void release_slow(void* p) {
  if (p == nullptr) return;
  const int saved_errno = errno;
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner)) {
    if (this_thread.forking) {
      *static_cast<void**>(p) = this_thread.set_aside;
      this_thread.set_aside = p;
    } else {
      Cache* cache = cache_of_this_thread();
      heap.release(cache, static_cast<ClassId>(owner), p);
      publish(cache);
    }
  } else {
    next_allocator().release(p);
    if (this_thread.cache != nullptr && !this_thread.forking) heap.visit(*this_thread.cache);
  }
  errno = saved_errno;
}

size_t usable_size(void* p) {
  if (p == nullptr) return 0;
  const uintptr_t owner = heap.owner(p);
  if (Heap::is_class(owner)) return heap.classes()[static_cast<ClassId>(owner)].object_bytes;
  return next_allocator().usable_size(p);
}

void* reallocate_foreign(void* p, size_t bytes) {
  const size_t old_bytes = next_allocator().usable_size(p);
  if (old_bytes == 0 || heap.classes().find(bytes) == kNoClass) {
    return next_allocator().reallocate(p, bytes);
  }
  void* moved = allocate_slow(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(old_bytes, bytes));
  release_slow(p);
  return moved;
}

const PassCounts& passed_counts() { return passes; }

}  // namespace pktmalloc
