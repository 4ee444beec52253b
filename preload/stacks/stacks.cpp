// SPDX-License-Identifier: MIT
#include "preload/stacks/stacks.h"

#include <alloca.h>

#include <algorithm>
#include <cstring>

#include "preload/base/mapping.h"
#include "preload/stacks/symbols.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

constexpr unsigned kBucketBits = 17;
constexpr uint32_t kLongStack = 6;
constexpr StackId kUnknown = 1;  // a stack without frames
constexpr size_t kStep = size_t{256} << 10;
constexpr size_t kLeast = size_t{1} << 20;
constinit std::atomic<size_t> store_bytes = 0;  // address space
constinit std::atomic<size_t> committed = 0;
constinit std::atomic<size_t> used = 2 * kStackUnit;
// Heads of the lists of stacks by hash; exchanged atomically, so nobody waits.
constinit std::atomic<StackId> buckets[size_t{1} << kBucketBits]{};

// How many stacks led to a place's return address, by its hash. Some programs make so many of them
// that to find them costs more than the program: from a bound on, only the innermost frames count,
// and of a recursion those of its first round; from another on, fewer still.
constexpr unsigned kWaysBits = 12;
constexpr uint16_t kManyWays = 250, kTooManyWays = 4000;
constexpr uint32_t kFewFrames = 8, kFewestFrames = 4;
constinit std::atomic<uint16_t> ways_to[1 << kWaysBits]{};

// Threads may commit the same step at once: then the second commit changes nothing.
bool commit_up_to(size_t end) {
  size_t begin = committed;
  if (end <= begin) return true;
  const size_t next = std::min(round_up(end, kStep), store_bytes.load());
  if (end > next || !memory::commit(stack_store + begin, next - begin)) return false;
  while (begin < next && !committed.compare_exchange_weak(begin, next, std::memory_order_relaxed)) {
  }
  return true;
}

}  // namespace

StackId intern(const Frame* frames, uint32_t count, bool is_cut) {
  if (stack_store == nullptr) return kUnknown;
  const size_t frames_bytes = count * sizeof *frames;
  uint64_t hash = uint64_t{is_cut} << 32 | count;
  for (uint32_t i = 0; i < count; ++i) {
    hash = hash_of({hash, frames[i].pc + (frames[i].offset << 45 | frames[i].offset >> 19)});
  }
  std::atomic<StackId>& bucket = buckets[hash >> (64 - kBucketBits)];
  StackId first = bucket.load(std::memory_order_acquire);  // pairs with the exchange below
  for (StackId id = first; id != 0; id = stack_of(id).next) {
    if (stack_of(id).hash == hash) return id;  // 64 bits: nobody will see two stacks with one hash
  }
  const size_t bytes = offsetof(Stack, frames) + frames_bytes;
  size_t offset = used.load(std::memory_order_relaxed);
  do {
    if (!commit_up_to(offset + bytes)) return kUnknown;
  } while (!used.compare_exchange_weak(offset, offset + bytes, std::memory_order_relaxed));
  const StackId id = static_cast<StackId>(offset / kStackUnit);
  Stack& stack = *reinterpret_cast<Stack*>(stack_store + offset);
  stack.count = static_cast<uint16_t>(count & 0x7fff);
  // The two outermost of a long stack are those of libc; of a short one, a fiber's, perhaps not.
  const bool ends_in_libc = !is_cut && count >= kLongStack;
  stack.compared = static_cast<uint16_t>(ends_in_libc ? count - 2 : count);
  stack.is_cut = is_cut;
  stack.hash = hash;
  memcpy(stack.frames, frames, frames_bytes);
  do {
    stack.next = first;
  } while (!bucket.compare_exchange_weak(first, id, std::memory_order_release));
  return id;
}

[[gnu::cold, gnu::noinline]] StackId capture_slow(Site site, uint64_t hash) {
  std::atomic<uint16_t>& ways = ways_to[hash_of({site.pc, 0}) >> (64 - kWaysBits)];
  const unsigned known = PKTMALLOC_CHECKED ? ways.load(std::memory_order_relaxed) : 0;
  const bool many = known >= kManyWays, too_many = known >= kTooManyWays;
  const uint32_t most = too_many ? kFewestFrames : many ? kFewFrames : stack_depth;
  Calls calls{site, static_cast<Frame*>(alloca(most * sizeof(Frame))), most};
  unwind(calls);
  for (uint32_t i = kFewestFrames; many && i < calls.count; ++i) {
    const auto is_same = [&](const Frame& inner) { return inner.pc == calls.frames[i].pc; };
    if (std::any_of(calls.frames, calls.frames + i, is_same)) calls.is_cut = true, calls.count = i;
  }
  const size_t before = used.load(std::memory_order_relaxed);
  const StackId id = intern(calls.frames, calls.count, calls.is_cut);
  if (!too_many && id * kStackUnit >= before) ways.fetch_add(1, std::memory_order_relaxed);
  if (calls.words_known && id != kUnknown) {
    place_of(hash).store(uint64_t{rest_of(hash)} << 32 | id, std::memory_order_release);
  }
  return id;
}

void start_stacks(size_t most_bytes) {
  if (stack_store != nullptr) return;
  size_t bytes = std::max(at_most(most_bytes, RLIMIT_AS), kLeast);
  stack_store = static_cast<char*>(reserve_up_to(bytes, kLeast));
  store_bytes = bytes;
}

void limit_stacks(size_t bytes) {
  const size_t former = store_bytes;
  const size_t wanted = std::min(former, round_up(std::max(bytes, kLeast), kStep));
  // A thread that commits by the former bound goes at most a step beyond what it saw as committed,
  // and that was before the bound fell.
  store_bytes = wanted;
  store_bytes = std::min(former, std::max(wanted, committed + kStep));
  const size_t kept = store_bytes;
  if (kept < former) memory::release(stack_store + kept, former - kept);
}

StackId capture_interrupted(uintptr_t pc) {
  Frame room[kStackFrames];
  Calls calls{{pc, 0}, room, kStackFrames};
  unwind(calls);
  ++calls.frames[0].pc;  // all others are return addresses, just after the instruction that counts
  return intern(calls.frames, calls.count, calls.is_cut);
}

unsigned frames_of(StackId id, uintptr_t* frames, unsigned most) {
  if (id <= kUnknown) return 0;
  const Stack& stack = stack_of(id);
  const unsigned count = std::min<unsigned>(stack.count, most);
  for (unsigned i = 0; i < count; ++i) frames[i] = stack.frames[i].pc;
  return count;
}

unsigned frames_outside(StackId id, uintptr_t (&frames)[kStackFrames]) {
  uintptr_t* const end = frames + frames_of(id, frames, kStackFrames);
  uintptr_t* const first = std::find_if_not(frames, end, in_this_library);
  return static_cast<unsigned>(std::copy(first, end, frames) - frames);
}

bool is_cut(StackId id) { return id > kUnknown && stack_of(id).is_cut; }

}  // namespace pktmalloc
