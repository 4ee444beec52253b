// SPDX-License-Identifier: MIT
// The background thread: gives memory back while the program is idle and runs no code of ours.
//
// It sleeps without a timeout while nothing waits to be given back, and wakes once a tick while
// something does. With PKTMALLOC_BACKGROUND=auto it starts only where several threads allocate and
// more than 32 MiB are pooled, so a single-threaded program never gets a second thread unasked.
// Since no free may start it (own_thread.h), it must exist before the frees it serves, or come when
// their thread ends; a free wakes it with one futex call.
#include <atomic>

#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "sizeclass/base/machine.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kWorthAThread = uint64_t{32} << 20;  // bytes mapped
constexpr uint64_t kWorthATick = uint64_t{64} << 10;    // bytes that wait
constexpr size_t kStackBytes = size_t{64} << 10;        // we need 4 KiB

constinit std::atomic<uint32_t> parked = 0;  // futex word: 1 while asleep without a timeout

void wake() {
  // What waits was stored by a locked instruction, or before one.
  machine::order_after_locked();
  if (parked.load(std::memory_order_relaxed) == 0 || memory::in_strict_mode) return;
  // Partner: the store of 1 in run(). Only one of several wakers makes the call.
  if (parked.exchange(0, std::memory_order_acq_rel) == 1) futex_wake_one(parked);
}

void run();
constinit OwnThread thread{part_rank(PartId::background), "pktmalloc", kStackBytes, run};

void run() {
  while (!thread.ending()) {
    // Whose objects are reserved shall make no call of the system to wake us.
    if (heap.age() < kWorthATick && !heap.has_reserved()) {
      parked.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      // Somebody may have seen 0 just before and not have woken us: look once more.
      if (heap.waiting_bytes() < kWorthATick && !thread.ending()) {
        while (parked.load(std::memory_order_acquire) == 1) futex_wait(parked, 1, nullptr);
      }
      parked.store(0, std::memory_order_relaxed);
    }
    thread.rest(heap.ageing().tick_ms());
  }
}

EVERY_PROCESS void forked() {
  if (!thread.forget()) return;
  heap.ageing().use_background(nullptr);
  parked.store(0, std::memory_order_relaxed);
}

}  // namespace

void background_consider() {
  const Switch option = options().background;
  if (thread.settled() || option == Switch::kOff) return;
  const bool is_worth_it = heap.threads_alive() > 1 && heap.mapped_bytes() > kWorthAThread;
  if (option == Switch::kAuto && !is_worth_it) return;
  if (thread.start(in_own_memory)) heap.ageing().use_background(wake);
}

constinit const Part background_part{
    .last_thread =
        [] {
          heap.ageing().use_background(nullptr);
          thread.end(wake);
        },
    .mutexes = {&thread.mutex},
    .forked = forked,
};

}  // namespace pktmalloc
