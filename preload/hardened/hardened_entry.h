// SPDX-License-Identifier: MIT
// Hardened entry: the calls of the hardened library (serving/twin_calls.h), which look at every
// object on its way out and back:
//
//     out:   its state must not be "in use"; it must begin with zeros, as free memory does
//     back:  its state must be "in use"; it waits for a while and is cleared (waiting.h)
//
// A state is a word far from the object (sizeclass/slabs/object_states.h). Objects with canaries
// (canary.h) take the slower functions. Below, the caches work as in the normal library. What is
// not pooled passes through.
#pragma once

#include "preload/hardened/canary.h"
#include "preload/hardened/waiting.h"
#include "preload/serving/fast_path.h"
#include "preload/serving/twin_calls.h"

namespace pktmalloc::hardened {

using namespace twin;

// Of an object that has waited, or nullptr: clears it and gives it back; looks whether it was
// written to.
void release_waited_at(Site site, ClassId id, void* p);

// Of an object on its way out that is not as it should be: reports that, and hands it out if the
// program is to go on. `blank_before`: nobody has written there since.
void* hand_out_suspicious_at(Site site, ClassId id, void* p, bool blank_before = true);

// Reports, and returns if the program is to go on. `now`: the call that found it; 0: at exit.
void tell_written(StackId now, const void* p);

// An object in use is not from now on. `state` is its own. Returns an object for
// release_waited_at(): one that was written to while it waited or of which more than a line is
// cleared; in a thread where none waits, this one. Else nullptr.
[[gnu::always_inline]] inline void* set_freed(ClassId id, void* p, ObjectStates::Entry state) {
  state.set(ObjectStates::kFreed);
  blank_head(p);
  if (waiting.objects == nullptr) return p;
  void* const waited = wait(id, p);
  if (waited == nullptr || !is_head_blank(waited)) return waited;
  if (row(id).last_cleared != 0) [[likely]] {
    blank_line(waited, row(id).last_cleared);
  } else if (row(id).last != 0) [[unlikely]] {
    return waited;
  }
  if (!this_thread.releases_to->put(id, waited)) release_slow(waited);
  return nullptr;
}

// Does the caller say the size of its object? Only delete says it for sure: what malloc gave may
// have been resized in place.
inline bool is_sized(const Told& told) {
  return told.family != Family::kMalloc && told.bytes != kUntold && told.bytes != 0;
}

// Does what the caller says agree with the class?
inline bool fits(ClassId id, const Told& told) {
  if (!is_sized(told)) return true;
  return id == (told.alignment == kUntold
                    ? heap.classes().find(told.bytes)
                    : heap.classes().find_aligned(told.bytes, told.alignment));
}

// States do not tell addresses apart in the first 16 bytes of an object.
inline bool is_start(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % ClassTable::kSmallStep == 0;
}

template <void* (*kSlow)(size_t)>
[[gnu::always_inline]] inline void* allocate(size_t bytes) {
  if (bytes - 1 < fast_bytes) [[likely]] {  // not 0 either
    const ClassId id = heap.classes().small(bytes);
    if (void* p = this_thread.allocates_from->allocate(id)) [[likely]] {
      const ObjectStates::Entry state = heap.state_of(id, p);
      if (!state.is(ObjectStates::kFreed) || !is_blank(p, row(id).last)) [[unlikely]]
        return hand_out_suspicious_at(this_site(), id, p);
      state.set(ObjectStates::kLive);
      return p;
    }
  }
  return kSlow(bytes);
}

[[gnu::always_inline]] inline void release(void* p, const Told& told = {}) {
  if (heap.spans(p)) [[likely]] {
    const ClassId id = heap.class_of_unit(p);
    const ObjectStates::Entry state = heap.state_of(id, p);
    if (is_start(p) && state.is(ObjectStates::kLive) && fits(id, told)) [[likely]] {
      if (void* const left = set_freed(id, p, state)) release_waited_at(this_site(), id, left);
      return;
    }
  }
  release_at(this_site(), p, told.family, told.bytes, told.alignment);
}

}  // namespace pktmalloc::hardened
