// SPDX-License-Identifier: MIT
#include "preload/checked/inspection.h"

#include "preload/checked/guard.h"
#include "preload/checked/large_objects.h"
#include "preload/checked/lookup.h"
#include "preload/process.h"

namespace pktmalloc::checked {
namespace {

struct Damage {
  bool front = false;
  size_t back = 0;  // position behind the end
  uint8_t found = 0;
  bool any = false;
};

Damage damage_of(const Header& header) {
  Damage damage;
  damage.front = header.canary != header.expected_canary();
  const size_t length = header.back;
  damage.back = first_other(back_of(header), kBackByte, length);
  const bool behind = damage.back < length;
  if (behind) damage.found = back_of(header)[damage.back];
  damage.any = damage.front || behind;
  return damage;
}

void tell_damage(const Header& header, const Damage& damage, StackId now) {
  const Facts facts(header);
  if (damage.front) {
    tell(now, facts, "write before the start of %p, an object of %zu bytes", facts.user,
         facts.bytes);
  } else {
    tell(now, facts, "write past the end of %p, an object of %zu bytes: byte %zu is %#x",
         facts.user, facts.bytes, facts.bytes + damage.back, damage.found);
  }
}

// Other threads may be at work: an object counts only if it was the same before and after.
void inspect_live(const Header& header) {
  if (!header.sealed() || header.freed_at.load(std::memory_order_acquire) != 0) return;
  const Damage damage = damage_of(header);
  if (!damage.any) return;
  std::atomic_thread_fence(std::memory_order_acquire);
  if (!header.sealed() || header.freed_at.load(std::memory_order_acquire) != 0) return;
  tell_damage(header, damage, 0);
}

}  // namespace

void inspect_edges(Header& header, StackId now) {
  const Damage damage = damage_of(header);
  if (!damage.any) [[likely]]
    return;
  tell_damage(header, damage, now);
  header.canary = header.expected_canary();
  memset(back_of(header), kBackByte, header.back);
}

bool inspect_freed(Header& header) {
  if (!header.sealed()) {
    tell(0, Facts{}, "write after free: the header of %p is destroyed", header.user());
    return false;
  }
  inspect_edges(header, 0);
  const size_t at = first_other(header.user(), kFreedByte, header.bytes);
  if (at < header.bytes) [[unlikely]] {
    const Facts facts(header);
    tell(0, facts, "write after free to %p, an object of %zu bytes: byte %zu is %#x", facts.user,
         facts.bytes, at, static_cast<const uint8_t*>(header.user())[at]);
  }
  return true;
}

void inspect_all() {
  for (unsigned i = 0; heap.started() && i < heap.classes().count(); ++i) {
    heap.each_object(static_cast<ClassId>(i), [](uintptr_t raw) {
      if (const Header* header = find_object(reinterpret_cast<void*>(raw))) inspect_live(*header);
    });
  }
  for (size_t n = 0; const Header* header = next_large(n);) inspect_live(*header);
  for (size_t n = 0; const Header* header = next_guarded(n);) inspect_live(*header);
}

}  // namespace pktmalloc::checked
