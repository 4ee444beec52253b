// SPDX-License-Identifier: MIT
#include "preload/checked/inspection.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

#include "preload/checked/lookup.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/keep_errno.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/heap/budget.h"

namespace pktmalloc::checked {
namespace {

constexpr size_t kLeastLarge = 16 << 10;  // below, protecting pages costs more

// Microseconds that a thread may spend on protecting: a tenth of its time; undoing takes as long.
// What it frees beyond, it frees unprotected. Saved up: some hundred objects.
constexpr Budget::Income kProtecting{.per_ms = 100, .most = 20'000};
constinit thread_local Budget protecting;
constinit thread_local uint64_t protected_at = 0;  // microseconds, the latest time

// Of an object that waits long. Between the two are the pages that are protected, or nothing.
Ends long_ends(const Object& object) {
  if (object.bytes() < kLeastLarge || heap.owns(object.user)) return {};
  const size_t page = memory::page_bytes();
  const uintptr_t from = reinterpret_cast<uintptr_t>(object.user);
  // Where pages have 64 KiB it may be smaller than one.
  const size_t head = std::min(round_up(from, page) - from, object.bytes());
  return {head, head + (object.bytes() - head) / page * page};
}

// Position of the first byte written since, but for those between the ends; bytes(): none was.
size_t first_written(const Object& object, Ends ends) {
  const size_t at = first_other(object.user, ends.head);
  if (at < ends.head) return at;
  return ends.tail + first_other(object.user + ends.tail, object.bytes() - ends.tail);
}

// Of a byte that is not as it was.
void tell_byte(const Object& object, const char* byte, StackId now) {
  Facts facts = facts_of(object), front;
  if (now != 0) facts.freed_at = 0;  // this very call frees it
  if (byte < object.user && heap.owns(object.user)) {
    if (const Object before = find_object(object.raw() - 1)) {
      front = facts_of(before);
      facts.in_front = &front;
    }
  }
  char value[16];
  snprintf(value, sizeof value, " is %#x", static_cast<uint8_t>(*byte));
  tell_access(now, facts, "write", reinterpret_cast<uintptr_t>(byte), value);
}

void tell_damage(const Object& object, StackId now) {
  const char* const front = object.user - kFront;
  const char* byte = front + first_other(front, kFront);
  if (byte == object.user) byte += object.bytes() + first_other(object.back(), object.back_bytes());
  tell_byte(object, byte, now);
}

// Other threads may be at work: damage counts only if the object was the same before and after.
bool live_and_damaged(const Object& object) {
  if (!object.head.is_live() || edges_intact(object)) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return object.record->head.load(std::memory_order_relaxed) == object.head;
}

void inspect_live(const Object& object) {
  if (object && live_and_damaged(object)) tell_damage(object, 0);
}

}  // namespace

void poison_long(const Object& object) {
  const auto [head, tail] = long_ends(object);
  poison(object, {head, tail});
  // Whom the system refuses data might not have it back.
  if (head == tail || at_most(RLIM_INFINITY, RLIMIT_DATA) != RLIM_INFINITY) return;
  const KeepErrno keep;
  const uint64_t now = clock_us();
  protecting.earn(kProtecting, now / 1000 - protected_at / 1000);
  protected_at = now;
  if (!protecting.any()) return;
  mprotect(object.user + head, tail - head, PROT_NONE);
  protecting.spend(static_cast<int64_t>(clock_us() - now));
}

bool expose(const Object& object) {
  const auto [head, tail] = long_ends(object);
  return head == tail || memory::commit(object.user + head, tail - head);
}

void mend_edges(Object object, StackId now) {
  tell_damage(object, now);
  fill(object.user - kFront, kFront);
  fill(object.back(), object.back_bytes());
}

bool inspect_freed(const Object& object) {
  if (!expose(object)) return false;
  inspect_poison(object, long_ends(object));
  return true;
}

void inspect_poison(const Object& object, Ends ends) {
  if (!edges_intact(object)) mend_edges(object, 0);
  const size_t at = first_written(object, ends);
  if (at < object.bytes()) tell_byte(object, object.user + at, 0);
}

void inspect_all() {
  heap.each_object([](ClassId id, uintptr_t raw) {
    inspect_live(object_in(pooled_place(id, reinterpret_cast<void*>(raw))));
  });
  for (size_t n = 0; const Object object = next_large(n, live_and_damaged);) inspect_live(object);
  each_guarded(inspect_live);
}

}  // namespace pktmalloc::checked
