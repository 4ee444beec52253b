// SPDX-License-Identifier: MIT
#include "preload/checked/guard.h"

#include <sys/mman.h>

#include "preload/base/lock_rank.h"
#include "preload/base/mapping.h"
#include "preload/base/options.h"
#include "preload/checked/table_lock.h"
#include "preload/process/thread.h"
#include "sizeclass/memory.h"
#include "sizeclass/rounding.h"

namespace pktmalloc::checked {
namespace {

// Two mappings per slot, out of the 65,530 that a process has by default.
constexpr uint32_t kMostSlots = 16384;
constexpr uint32_t kEmptySlots = 4096;  // if there are only objects of no bytes
constexpr size_t kAlignment = 16;

constinit Mutex mutex{lock_rank(OuterRank::kGuard)};
size_t slot_bytes = 0;  // with the guard page
size_t page = 0;
uint32_t slots = 0;
ClassId guarded_class = kNoClass;
uint32_t fresh = 0;  // slots below have been used; guarded by mutex, like the ring
uint32_t* released = nullptr;
uint32_t released_first = 0, released_count = 0;

uintptr_t slot_of(const void* p) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(p) - guarded_begin;
  return guarded_begin + offset / slot_bytes * slot_bytes;
}

Header*& header_in(uintptr_t slot) { return *reinterpret_cast<Header**>(slot); }

uintptr_t guard_of(uintptr_t slot) { return slot + slot_bytes - page; }

bool used(uintptr_t slot) { return slot < guarded_begin + fresh * slot_bytes; }

// 0: none.
uintptr_t take_slot() {
  const TableLock lock(mutex);
  if (fresh < slots && !memory::in_strict_mode) {
    const uintptr_t slot = guarded_begin + fresh * slot_bytes;
    if (mprotect(reinterpret_cast<void*>(slot), slot_bytes - page, PROT_READ | PROT_WRITE) == 0) {
      ++fresh;
      return slot;
    }
  }
  if (released_count == 0) return 0;
  const uint32_t slot = released[released_first];
  released_first = (released_first + 1) % slots;
  --released_count;
  return guarded_begin + slot * slot_bytes;
}

}  // namespace

void start_guard(size_t size) {
  if (!heap.started()) return;
  if (size != 0) guarded_class = heap.classes().find(size);
  guards_class = guarded_class != kNoClass;
  const size_t most = guards_class ? heap.classes()[guarded_class].object_bytes : 0;
  slots = guards_class ? kMostSlots : kEmptySlots;
  page = memory::page_bytes();
  slot_bytes = round_up(sizeof(uintptr_t) + sizeof(Header) + kAlignment + most, page) + page;
  released = static_cast<uint32_t*>(map_lazily(slots * sizeof *released));
  void* region = memory::reserve(slots * slot_bytes, page);
  if (released == nullptr || region == nullptr) slots = 0;
  guarded_begin = reinterpret_cast<uintptr_t>(region);
  guarded_bytes = slots * slot_bytes;
}

void* take_guarded(size_t bytes) {
  if (bytes != 0 && heap.classes().find(bytes) != guarded_class) return nullptr;
  const uintptr_t slot = take_slot();
  if (slot == 0) return nullptr;
  Header* const header =
      reinterpret_cast<Header*>(guard_of(slot) - round_up(bytes, kAlignment)) - 1;
  header->unseal();
  header_in(slot) = header;
  return header;
}

void release_guarded(const Header& header) {
  const uintptr_t slot = slot_of(&header);
  const TableLock lock(mutex);
  released[(released_first + released_count) % slots] =
      static_cast<uint32_t>((slot - guarded_begin) / slot_bytes);
  ++released_count;
}

size_t guarded_room(const void* raw) {
  return guard_of(slot_of(raw)) - reinterpret_cast<uintptr_t>(raw);
}

Header* find_guarded(const void* p) {
  const uintptr_t slot = slot_of(p);
  return used(slot) ? header_in(slot) : nullptr;
}

Header* find_before_guard(const void* p) {
  const uintptr_t slot = slot_of(p);
  const bool in_guard = reinterpret_cast<uintptr_t>(p) >= guard_of(slot);
  return in_guard ? find_guarded(p) : nullptr;
}

bool open_guard(const void* p) {
  return mprotect(reinterpret_cast<void*>(guard_of(slot_of(p))), page, PROT_READ | PROT_WRITE) == 0;
}

Header* next_guarded(size_t& n) {
  while (n < fresh) {
    if (Header* header = header_in(guarded_begin + n++ * slot_bytes)) return header;
  }
  return nullptr;
}

Mutex& guard_mutex() { return mutex; }

}  // namespace pktmalloc::checked
