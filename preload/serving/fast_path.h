// SPDX-License-Identifier: MIT
// Fast path: the fast half of every exported function, inlined into each of them, because a call
// through the procedure linkage table costs a tenth of the whole operation.
//
//     malloc: size -> class (one byte load) -> top of the loaded magazine -> object
//     free:   address -> class (subtract, shift, one byte load) -> top of the loaded magazine ->
//     store
//
// No lock, no atomic, no call, no test of any state: a request that the thread's magazines cannot
// serve, not yet, no longer or never, meets the sentinel there and leaves by a tail call.
//
// Of many objects at once, what the magazines can serve, by a copy:
//
//     allocate_run: from the top down, until the mark for "empty"
//     release_run:  onto the top, until the mark for "full", an object of another unit, or the
//                   one before once more
//
// The marks are those that single calls meet, so a thread that is traced, watched or sampled serves
// a run of none or stops at its sample. After it the caller makes a single call, which swaps the
// thread's two magazines if need be, and goes on with a run.
//
// The slow half (slow_path.cpp), of every allocating and freeing function, decides which requests
// are pooled, and what becomes of the others. The next allocator gets a request that is larger than
// the largest block, needs an alignment that none has, has a size whose class is off
// (PKTMALLOC_CLASSES), or meets an exhausted pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "preload/process/thread.h"
#include "preload/serving/call.h"

namespace pktmalloc {

// All return nullptr with errno = ENOMEM when there is no memory.
void* allocate_slow(size_t bytes);
void* allocate_zeroed_slow(size_t bytes);
// `alignment` is a power of two.
void* allocate_aligned(size_t alignment, size_t bytes);
// p is not null and in no class, bytes not 0. On failure p is untouched.
void* reallocate_foreign(void* p, size_t bytes);
// Moves the object into a class. One that shrinks stays where it is if there is no memory for a
// smaller one.
void* move_or_stay(void* p, size_t old_bytes, size_t bytes);

// Keeps errno. p is not null, but may be foreign.
void release_slow(void* p);

// 0 for null; the next allocator's answer for foreign pointers.
size_t usable_size(void* p);

template <void* (*kSlow)(size_t)>
inline void* allocate(size_t bytes) {
  if (bytes <= ClassTable::kSmallLimit) [[likely]] {
    const ClassId id = heap.classes().small(bytes);
    if (void* p = this_thread.allocates_from->allocate(id)) [[likely]]
      return p;
  }
  return kSlow(bytes);
}

// A slow half for whoever has another one.
inline void* allocate_none(size_t) { return nullptr; }

inline void* allocate_zeroed(size_t bytes) {
  void* const p = allocate<allocate_none>(bytes);
  return p != nullptr ? memset(p, 0, bytes) : allocate_zeroed_slow(bytes);
}

inline void* allocate_slow(size_t bytes, Family) { return allocate_slow(bytes); }

inline void* allocate_aligned(size_t alignment, size_t bytes, Family) {
  return allocate_aligned(alignment, bytes);
}

// p is of the class.
inline void release_pooled(ClassId id, void* p) {
  if (this_thread.releases_to->release(id, p)) [[likely]]
    return;
  return release_slow(p);
}

inline void release(void* p, Told = {}) {
  // The list of class 0, which has the units that nobody has, takes nothing.
  if (heap.spans(p)) [[likely]]
    return release_pooled(heap.class_of_unit(p), p);
  if (p != nullptr) return release_slow(p);
}

// For an object that moves to be resized. One that grows will grow again: with half as much more
// room it is not copied at each class (docs/decisions.md); but not where requests are recorded, or
// the memory is not there.
template <typename Allocate>
inline void* allocate_to_resize(size_t old_bytes, size_t bytes, size_t most,
                                const Allocate& allocate) {
  constexpr size_t kLeast = 4096;
  const bool grows = bytes > old_bytes && bytes >= kLeast && bytes <= most;
  void* const roomy = grows && !is_observed() && this_thread.sampler == nullptr
                          ? allocate(std::min(bytes + bytes / 2, most))
                          : nullptr;
  return roomy != nullptr ? roomy : allocate(bytes);
}

// p is not null, 0 < bytes <= PTRDIFF_MAX. On failure p is untouched.
inline void* reallocate(void* p, size_t bytes) {
  const ClassId id = heap.class_of(p);
  if (id == kNoClass) return reallocate_foreign(p, bytes);
  return resizes_in_place(id, bytes) ? p : move_or_stay(p, heap.classes()[id].object_bytes, bytes);
}

// What the classes are asked for on behalf of a request of so many bytes.
inline size_t room_for(size_t bytes) { return bytes; }

// Both return how many of the objects were served, the first ones.
inline size_t allocate_run(size_t bytes, void** objects, size_t count) {
  return this_thread.allocates_from->allocate_run(heap.classes().find(bytes), objects, count);
}

// count > 0.
inline size_t release_run(void* const* objects, size_t count) {
  const ClassId id = heap.class_of(*objects);
  if (id == kNoClass) return 0;
  return this_thread.releases_to->release_run(id, objects, count, SlabPool::kUnitShift);
}

}  // namespace pktmalloc
