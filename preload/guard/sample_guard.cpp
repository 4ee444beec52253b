// SPDX-License-Identifier: MIT
#include "preload/guard/sample_guard.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/base/this_library.h"
#include "preload/process/fault_signal.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/recording/sampler.h"
#include "preload/stacks/finding.h"
#include "sizeclass/base/arithmetic.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

using State = Slot::State;

constexpr uint32_t kSampledSlots = 4096;
constexpr size_t kSampledBytes = size_t{256} << 10;  // what the pool serves
constexpr uint32_t kEmptySlots = 16384;              // if there are only objects of no bytes
constexpr size_t kMostLiveBytes = size_t{16} << 20;
constexpr size_t kAlignment = 16;
constexpr uint8_t kPattern = 0xCE;
constexpr size_t kStackBytes = size_t{64} << 20;  // of addresses

constinit std::atomic<size_t> live_bytes = 0;  // of pages

// Two stretches: before the object and behind it.
void fill_edges(const Slot& slot, const Pages& pages) {
  memset(pages.start(), kPattern, slot.user - pages.begin);
  const uintptr_t end = slot.user + slot.bytes;
  memset(reinterpret_cast<void*>(end), kPattern, pages.end - end);
}

void check_edges(const Slot& slot, const Pages& pages, StackId now) {
  const auto intact = [](uintptr_t p) { return *reinterpret_cast<const uint8_t*>(p) == kPattern; };
  const uintptr_t end = slot.user + slot.bytes;
  uintptr_t before = slot.user, behind = end;
  while (before > pages.begin && intact(before - 1)) --before;
  while (behind < pages.end && intact(behind)) ++behind;
  const Facts facts = slot.facts();
  const char* const found = ", found when it is freed";
  if (before > pages.begin) tell_access(now, facts, "write", before - 1, found);
  if (behind < pages.end) tell_access(now, facts, "write", behind, found);
}

// To guard an object takes 5 us for two system calls and a page, 40 us in a process with several
// threads, whose processors all must hear of it. So that this takes at most 1 % of a processor,
// however often a program allocates, there are 250 a second at most, and 25 of them at once. Who
// asks for one object in fewer than kUnbounded wants all there are.
constexpr uint64_t kUnbounded = 100;
constexpr uint64_t kEachUs = 4000;
constexpr uint64_t kAtOnceUs = 100'000;
constinit std::atomic<uint64_t> paid_until_us = 0;

bool may_take() {
  if (options().sample_guard < kUnbounded) return true;
  const uint64_t now = clock_ms() * 1000;
  uint64_t until = paid_until_us.load(std::memory_order_relaxed);
  do {
    if (until > now + kAtOnceUs) return false;
  } while (!paid_until_us.compare_exchange_weak(until, std::max(until, now) + kEachUs,
                                                std::memory_order_relaxed));
  return true;
}

bool on_fault(uintptr_t address, uintptr_t pc, const char* what) {
  if (!is_guarded(reinterpret_cast<void*>(address))) return false;
  const Slot* const slot = nearest_slot(address);
  if (slot == nullptr) return false;
  // Of a live object's own pages the program took the access away.
  const Pages pages(*slot);
  const bool live = slot->state.load(std::memory_order_relaxed) == State::kLive;
  if (live && address >= pages.begin && address < pages.end) return false;
  Facts facts = slot->facts();
  facts.ends_by_signal = true;
  tell_access(capture_interrupted(pc), facts, what, address);
  return options().check_reports && open_page(address);
}

void taken(void* p, const Sample& sample, Site site) {
  if (!is_guarded(p)) return;
  Slot& slot = slot_of(p);
  slot.allocated_at = capture(site);
  slot.id = sample.id;
  if (slot.id != kNoClass) heap.count_outside(slot.id, true);
}

bool make_accessible(const Pages& pages) {
  if (pages.bytes() == 0) return true;
  const size_t live = live_bytes.fetch_add(pages.bytes(), std::memory_order_relaxed);
  if (live + pages.bytes() <= kMostLiveBytes && memory::commit(pages.start(), pages.bytes())) {
    return true;
  }
  live_bytes.fetch_sub(pages.bytes(), std::memory_order_relaxed);
  return false;
}

void make_inaccessible(const Pages& pages) {
  if (pages.bytes() == 0) return;
  // If the system refuses, the pages stay accessible until the slot is used again.
  memory::withdraw(pages.start(), pages.bytes(), false);
  live_bytes.fetch_sub(pages.bytes(), std::memory_order_relaxed);
}

void* allocate_guarded(size_t bytes, size_t alignment) {
  State was;
  Slot* const slot = take_slot(was);
  if (slot == nullptr) return nullptr;
  const uintptr_t data = data_of(*slot);
  // Of all objects none, so that a program that is run again ends again in the same way.
  const uint64_t random = next_number(data ^ slots_taken());
  const bool at_begin = options().sample_guard > 1 && bytes > 0 && random >> 63 != 0;
  const uintptr_t user =
      at_begin ? data : end_of(*slot) - round_up(bytes, std::max(alignment, kAlignment));
  const Pages pages(user, bytes);
  if (!make_accessible(pages)) {
    slot->state.store(was, std::memory_order_release);
    return nullptr;
  }
  slot->user = user;
  slot->bytes = bytes;
  slot->id = kNoClass;
  fill_edges(*slot, pages);
  slot->allocated_at = 0;
  slot->freed_at.store(0, std::memory_order_relaxed);
  slot->state.store(State::kLive, std::memory_order_release);
  return reinterpret_cast<void*>(slot->user);
}

bool start_sampling() {
  if (sampling) {
    message("PKTMALLOC_SAMPLE_GUARD does nothing beside PKTMALLOC_PROFILE");
  } else if (!heap.started() || !start_slots(kSampledSlots, kSampledBytes)) {
    message("PKTMALLOC_SAMPLE_GUARD does nothing here: the system refused the address space");
  } else {
    guards_samples = true;
    start_stacks(kStackBytes);
    load_unwinder();
    sample(options().sample_guard, SampleUnit::kObject, taken);
  }
  return guards_samples;
}

EVERY_PROCESS void load() {
  if (PKTMALLOC_CHECKED) return;
  if (options().sample_guard == 0 && options().check_reports &&
      kThisLibrary == LibraryKind::kNormal) {
    message(
        "PKTMALLOC_CHECK=report does nothing here: it is for libpktmalloc-checked.so, "
        "libpktmalloc-hardened.so and PKTMALLOC_SAMPLE_GUARD");
  }
  const bool samples = options().sample_guard != 0 && start_sampling();
  if (samples || (PKTMALLOC_HARDENED && start_slots(kEmptySlots, 0))) watch_faults(on_fault);
}

}  // namespace

void* allocate_sampled(size_t bytes, size_t alignment) {
  const bool fits = bytes <= kSampledBytes && alignment <= memory::page_bytes();
  return fits && may_take() ? allocate_guarded(bytes, alignment) : nullptr;
}

void* allocate_nothing() { return allocate_guarded(0, 1); }

void release_guarded(void* p, Site site) {
  Slot& slot = slot_of(p);
  // Of the hardened library's empty objects each is here: no stack is walked until one is told of.
  const StackId now = guards_samples ? capture(site) : 0;
  State live = State::kLive;
  if (slot.user != reinterpret_cast<uintptr_t>(p) ||
      !slot.state.compare_exchange_strong(live, State::kChanging, std::memory_order_acquire)) {
    return tell_wrong_pointer(capture(site), slot.facts(), "free", p);
  }
  const Pages pages(slot);
  if (slot.id != kNoClass) heap.uncount_outside(slot.id);
  check_edges(slot, pages, now);
  slot.freed_at.store(now, std::memory_order_relaxed);
  make_inaccessible(pages);
  slot.state.store(State::kFreed, std::memory_order_release);
}

size_t guarded_size(void* p, Site site) {
  const Slot& slot = slot_of(p);
  if (slot.user == reinterpret_cast<uintptr_t>(p) &&
      slot.state.load(std::memory_order_acquire) == State::kLive) {
    return slot.bytes;
  }
  tell_wrong_pointer(capture(site), slot.facts(), "use", p);
  return kNotLive;
}

constinit const Part sample_guard_part{.load = load};

}  // namespace pktmalloc
