// SPDX-License-Identifier: MIT
// Stacks: the calls that led to an allocation or a free, as a 32-bit number that an object can
// carry.
//
// A stack is unwound once per place. A place is a return address together with the address of its
// frame; it names the stack last found there. A stack records where, counted from the frame, its
// outer return addresses lay. The next call from the place compares those words with the frames
// found, the innermost first: if all are the same, so is the stack, and no unwinder is asked. That
// costs a few nanoseconds; unwinding costs microseconds. A function's frame may vary, and threads
// may have had other stacks there: so no word is read beyond what this thread was found to have.
// The first word that differs leads on: the place and this word name another stack, and so forth, a
// few times. The two outermost frames of a whole stack (libc's, as a rule) are not compared.
//
// Unwinding, frame by frame (unwinding.cpp), is the work of libgcc_s.so.1; every C++ exception
// relies on it, and it takes no lock on the way but one that it allocates under
// (docs/decisions.md). It costs a quarter of a microsecond a frame. So its findings are learned: a
// step, from a return address to the place of the next one, is always the same unless the
// function's frame varies (alloca), and a stack whose steps are all known is walked without it. A
// step that turns out to vary is never trusted again. Before load_unwinder() a stack is its
// innermost frame; so it is for what the unwinder itself allocates.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pktmalloc {

// Of a stack that finds its way into a finding; those of the heap profile may be deeper.
inline constexpr unsigned kStackFrames = 32;

struct Frame {
  uintptr_t pc;      // return address
  uintptr_t offset;  // of the word that holds it, from the innermost frame's cfa; 0: unknown
};

// A call into the library: where it returns to, and the stack pointer after the return.
struct Site {
  uintptr_t pc;
  uintptr_t cfa;  // canonical frame address, as DWARF calls it; 0: unknown
};

inline uint64_t hash_of(Site site) {
  const uint64_t product = (site.pc ^ site.cfa) * 0x9E3779B97F4A7C15;
  return product ^ product >> 29;
}

// From the frame of `site` outwards.
struct Calls {
  Site site;
  Frame* frames;  // the caller's, for few threads' stacks have room for many
  uint32_t most;  // of them
  uint32_t count = 0;
  bool words_known = site.cfa != 0;  // every frame's return address has a known place
  bool is_cut = false;               // there are more than `most`
};

void load_unwinder();

// At least one frame. Keeps errno.
void unwind(Calls& calls);

using StackId = uint32_t;  // 0: none

struct Stack {
  StackId next;  // in the same bucket
  uint16_t count : 15;
  uint16_t is_cut : 1;  // there are more frames outside
  uint16_t compared;
  uint64_t hash;
  Frame frames[];  // innermost first; `count` are stored
};

// So many frames of a stack count; changed at load only.
inline constinit uint32_t stack_depth = kStackFrames;

// The call of the exported function into which the caller is inlined.
[[gnu::always_inline]] inline Site this_site() {
  return {reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
          reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())};
}

// The first call reserves address space for the stacks, a thirty-second of what the process may
// have (RLIMIT_AS) at the most, less if the system refuses; memory comes as they grow. A stack
// without memory is reported as an unknown place.
void start_stacks(size_t most_bytes = size_t{1} << 30);

// Gives back addresses beyond so many bytes, but what is in use. One thread at a time.
void limit_stacks(size_t bytes);

// The stacks, one after the other; an id is the position in units. A stack never changes once its
// id is known.
inline constexpr size_t kStackUnit = 8;
inline constinit char* stack_store = nullptr;
inline const Stack& stack_of(StackId id) {
  return *reinterpret_cast<const Stack*>(stack_store + id * kStackUnit);
}

// By hash of the place: the rest of the hash above, never 0, and the id below. One word, so that a
// reader never sees halves of different places.
inline constexpr unsigned kPlaceBits = 16;
inline constinit std::atomic<uint64_t> places[size_t{1} << kPlaceBits]{};
inline std::atomic<uint64_t>& place_of(uint64_t hash) { return places[hash >> (64 - kPlaceBits)]; }
inline uint32_t rest_of(uint64_t hash) { return static_cast<uint32_t>(hash) | 1; }

// `hash`: where the search ended and the stack is to be remembered.
StackId capture_slow(Site site, uint64_t hash);

// From so many on, to follow learned steps costs less: without a bound espresso takes 1.24 times as
// long, with none at all mstress 1.3.
inline constexpr unsigned kMostHops = 4;

// What is known of the stack that this thread was on last. Whatever lies less than a guard page
// below is on the same stack; beyond the top nobody may look.
inline constexpr uintptr_t kPage = 4096;
inline constinit thread_local uintptr_t stack_low = 0, stack_top = 0;

// Never 0. Keeps errno.
inline StackId capture(Site site) {
  uint64_t hash = hash_of(site);
  for (unsigned hops = 0;; ++hops) {
    // Pairs with the store in capture_slow().
    const uint64_t place = place_of(hash).load(std::memory_order_acquire);
    if (place >> 32 != rest_of(hash)) return capture_slow(site, hash);
    const StackId id = static_cast<StackId>(place);
    const Stack& stack = stack_of(id);
    const Frame* frame = stack.frames;
    const Frame* const end = frame + stack.compared;
    if (frame->pc != site.pc || site.cfa + kPage <= stack_low)
      return capture_slow(site, hash_of(site));
    uintptr_t word;
    do {
      if (++frame >= end) return id;
      const uintptr_t at = site.cfa + frame->offset;
      if (at > stack_top) return capture_slow(site, hash_of(site));
      word = *reinterpret_cast<const uintptr_t*>(at);
    } while (word == frame->pc);
    if (hops == kMostHops) return capture_slow(site, hash);
    hash = hash_of({word, hash});
  }
}

// The same, found by frame pointers.
StackId capture_by_frame_pointers(Site site);

// From a signal's context: the stack of the interrupted code, whose next instruction is `pc`.
StackId capture_interrupted(uintptr_t pc);

// The number of a stack found in another way.
StackId intern(const Frame* frames, uint32_t count, bool is_cut);

// The innermost ones. Returns fewer than `most` if fewer are known.
unsigned frames_of(StackId id, uintptr_t* frames, unsigned most);
// The same of those outside of this library.
unsigned frames_outside(StackId id, uintptr_t (&frames)[kStackFrames]);
bool is_cut(StackId id);

}  // namespace pktmalloc
