// SPDX-License-Identifier: MIT
#include "preload/stacks/stacks.h"

#include <cstring>

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

constexpr unsigned kBucketBits = 16;
constexpr StackId kUnknown = 1;  // a stack without frames
size_t store_bytes = 0;
constinit std::atomic<size_t> used = 2 * kStackUnit;
// Heads of the lists of stacks by hash; changed by exchange, so nobody waits.
constinit std::atomic<StackId> buckets[size_t{1} << kBucketBits]{};

StackId intern(const Frame* frames, uint32_t count) {
  if (stack_store == nullptr) return kUnknown;
  const size_t frames_bytes = count * sizeof *frames;
  uint64_t hash = count;
  for (uint32_t i = 0; i < count; ++i) {
    hash = hash_of({hash, frames[i].pc});
    hash = hash_of({hash, frames[i].offset});
  }
  std::atomic<StackId>& bucket = buckets[hash >> (64 - kBucketBits)];
  StackId first = bucket.load(std::memory_order_acquire);  // pairs with the exchange below
  for (StackId id = first; id != 0; id = stack_of(id).next) {
    const Stack& stack = stack_of(id);
    if (stack.count == count && memcmp(stack.frames, frames, frames_bytes) == 0) return id;
  }
  const size_t bytes = offsetof(Stack, frames) + frames_bytes;
  const size_t offset = used.fetch_add(bytes, std::memory_order_relaxed);
  if (offset + bytes > store_bytes) return kUnknown;
  const StackId id = static_cast<StackId>(offset / kStackUnit);
  Stack& stack = *reinterpret_cast<Stack*>(stack_store + offset);
  stack.count = count;
  memcpy(stack.frames, frames, frames_bytes);
  do {
    stack.next = first;
  } while (!bucket.compare_exchange_weak(first, id, std::memory_order_release));
  return id;
}

}  // namespace

[[gnu::cold, gnu::noinline]] StackId capture_slow(Site site) {
  Trace trace(site);
  unwind(trace);
  const StackId id = intern(trace.frames, trace.count);
  if (trace.words_known && id != kUnknown) {
    const uint64_t hash = hash_of(site);
    place_of(hash).store(uint64_t{rest_of(hash)} << 32 | id, std::memory_order_release);
  }
  return id;
}

void start_stacks(size_t most_bytes) {
  for (store_bytes = most_bytes; store_bytes >= (1 << 20); store_bytes /= 8) {
    stack_store = static_cast<char*>(map_lazily(store_bytes));
    if (stack_store != nullptr) return;
  }
}

StackId capture_interrupted(uintptr_t pc) {
  Trace trace(Site{pc, 0});
  unwind(trace);
  ++trace.frames[0].pc;  // all others are return addresses, behind the instruction that counts
  return intern(trace.frames, trace.count);
}

StackId intern(const uintptr_t* frames, uint32_t count) {
  Frame all[kStackFrames];
  for (uint32_t i = 0; i < count; ++i) all[i] = {frames[i], 0};
  return intern(all, count);
}

unsigned frames_of(StackId id, uintptr_t* frames) {
  if (id <= kUnknown || stack_store == nullptr) return 0;
  const Stack& stack = stack_of(id);
  for (unsigned i = 0; i < stack.count; ++i) frames[i] = stack.frames[i].pc;
  return stack.count;
}

}  // namespace pktmalloc
