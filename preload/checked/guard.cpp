// SPDX-License-Identifier: MIT
#include "preload/checked/guard.h"

#include "preload/process/heap.h"
#include "sizeclass/base/memory.h"
#include "sizeclass/base/rounding.h"

namespace pktmalloc::checked {
namespace {

using State = Slot::State;

constexpr uint32_t kSlots = 16384;
constexpr uint32_t kEmptySlots = 4096;  // if there are only objects of no bytes
constexpr size_t kAlignment = 16;

ClassId guarded_class = kNoClass;

// What is accessible once stays so.
bool make_accessible(const Slot& slot) {
  const uintptr_t data = data_of(slot);
  return memory::commit(reinterpret_cast<void*>(data), end_of(slot) - data);
}

Header* header_in(const Slot& slot) {
  const bool used = slot.state.load(std::memory_order_acquire) != State::kUnused;
  return used ? reinterpret_cast<Header*>(slot.user) : nullptr;
}

}  // namespace

void start_guard(size_t size) {
  if (!heap.started()) return;
  if (size != 0) guarded_class = heap.classes().find(size);
  guards_class = guarded_class != kNoClass;
  const size_t most = guards_class ? heap.classes()[guarded_class].object_bytes : 0;
  start_slots(guards_class ? kSlots : kEmptySlots,
              round_up(sizeof(Header) + kAlignment + most, memory::page_bytes()));
}

void* take_guarded(size_t bytes) {
  if (bytes != 0 && heap.classes().find(bytes) != guarded_class) return nullptr;
  State was;
  Slot* const slot = take_slot(was);
  if (slot == nullptr) return nullptr;
  if (was == State::kUnused && !make_accessible(*slot)) {
    slot->state.store(was, std::memory_order_release);
    return nullptr;
  }
  Header* const header = reinterpret_cast<Header*>(end_of(*slot) - round_up(bytes, kAlignment)) - 1;
  header->unseal();
  slot->user = header->address();
  slot->state.store(State::kLive, std::memory_order_release);
  return header;
}

void release_guarded(const Header& header) {
  slot_of(&header).state.store(State::kFreed, std::memory_order_release);
}

size_t guarded_room(const void* raw) {
  return end_of(slot_of(raw)) - reinterpret_cast<uintptr_t>(raw);
}

Header* find_guarded(const void* p) { return header_in(slot_of(p)); }

Header* find_before_guard(const void* p) {
  const bool in_guard = reinterpret_cast<uintptr_t>(p) >= end_of(slot_of(p));
  return in_guard ? find_guarded(p) : nullptr;
}

bool open_guard(const void* p) {
  return memory::commit(reinterpret_cast<void*>(end_of(slot_of(p))), memory::page_bytes());
}

Header* next_guarded(size_t& n) {
  while (const Slot* const slot = slot_at(n++)) {
    if (Header* const header = header_in(*slot)) return header;
  }
  return nullptr;
}

}  // namespace pktmalloc::checked
