// SPDX-License-Identifier: MIT
#include "preload/checked/inspection.h"

#include <cstdio>

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/process/heap.h"

namespace pktmalloc::checked {
namespace {

void note_in_front(const Header& header, Facts& facts) {
  const uintptr_t owner = heap.owner(&header);
  if (!Heap::is_class(owner)) return;
  const uintptr_t raw = heap.object_at(static_cast<ClassId>(owner), &header);
  const Header* const front = find_object(reinterpret_cast<const char*>(raw) - 1);
  if (front == nullptr) return;
  facts.in_front = {front->user(), front->bytes, front->allocated_at};
}

// `at`: counted from the object's start.
void tell_byte(const Header& header, size_t at, StackId now) {
  char value[16];
  snprintf(value, sizeof value, " is %#x", static_cast<const uint8_t*>(header.user())[at]);
  tell_access(now, facts_of(header), "write", static_cast<ptrdiff_t>(at), value);
}

void tell_damage(const Header& header, StackId now) {
  if (header.canary != header.expected_canary()) {
    Facts facts = facts_of(header);
    note_in_front(header, facts);
    tell(now, facts, "write before the start of %p, an object of %zu bytes", facts.user,
         facts.bytes);
    return;
  }
  tell_byte(header, header.bytes + first_other(back_of(header), kBackByte, header.back()), now);
}

// Other threads may be at work: it reads what counts once, and an object only if it was the same
// before and after.
bool live_and_damaged(const Header& header) {
  const uint32_t sum = __atomic_load_n(&header.sum, __ATOMIC_ACQUIRE);
  const uint64_t bytes = __atomic_load_n(&header.bytes, __ATOMIC_RELAXED);
  const uint32_t shape = __atomic_load_n(&header.shape, __ATOMIC_RELAXED);
  const StackId stack = __atomic_load_n(&header.allocated_at, __ATOMIC_RELAXED);
  if (sum != header.sum_of(bytes, shape, stack) ||
      header.freed_at.load(std::memory_order_acquire) != 0 ||
      (header.canary == header.expected_canary() &&
       filled(static_cast<char*>(header.user()) + bytes, kBackByte, shape >> 16))) {
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return __atomic_load_n(&header.sum, __ATOMIC_RELAXED) == sum &&
         header.freed_at.load(std::memory_order_relaxed) == 0;
}

bool header_damaged(const Header& header) {
  const StackId freed_at = header.freed_at.load(std::memory_order_acquire);
  return header.overwritten() || (freed_at != 0 && !is_stack(freed_at) && header.sealed());
}

bool damaged(const Header& header) { return header_damaged(header) || live_and_damaged(header); }

constexpr const char* kBefore = "write before the start";

void inspect_live(const Header& header) {
  if (header_damaged(header)) return tell_overwritten(kBefore, header, 0);
  if (live_and_damaged(header)) tell_damage(header, 0);
}

void inspect_slot(uintptr_t raw, size_t object_bytes) {
  if (const Header* header = find_object(reinterpret_cast<void*>(raw))) {
    inspect_live(*header);
  } else if (const Header* remains = overwritten_in(raw, object_bytes)) {
    tell_overwritten(kBefore, *remains, 0);
  }
}

}  // namespace

void tell_overwritten(const char* what, const Header& header, StackId now) {
  const size_t bytes = bytes_by_canary(header);
  char size[48] = "";
  if (bytes != kUntold) snprintf(size, sizeof size, ", an object of %zu bytes", bytes);
  Facts facts;
  note_in_front(header, facts);
  tell(now, facts, "%s of %p%s: its header is overwritten", what, header.user(), size);
}

void mend_edges(Header& header, StackId now) {
  tell_damage(header, now);
  header.canary = header.expected_canary();
  fill(back_of(header), kBackByte, header.back());
}

bool inspect_damaged(Header& header, size_t (*first)(const Header&)) {
  if (!header.sealed()) {
    tell_overwritten("write after free, before the start", header, 0);
    header.unseal();  // so that it is not reported again at exit
    return false;
  }
  if (!edges_intact(header)) {
    mend_edges(header, 0);
    if (header.bytes >= kLeastLarge && !expose(header)) return false;
  }
  const size_t at = first(header);
  if (at < header.bytes) tell_byte(header, at, 0);
  return true;
}

void inspect_all() {
  for (const ClassId id : heap.classes().ids()) {
    const size_t object_bytes = heap.classes()[id].object_bytes;
    heap.each_object(id, [=](uintptr_t raw) { inspect_slot(raw, object_bytes); });
  }
  for (size_t n = 0; const Header* header = next_large(n, damaged);) inspect_live(*header);
  for (size_t n = 0; const Header* header = next_guarded(n);) inspect_live(*header);
}

}  // namespace pktmalloc::checked
