// SPDX-License-Identifier: MIT
#include "preload/reports/report_thread.h"

#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

#include "preload/base/futex.h"
#include "preload/base/lock_rank.h"
#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/reports/report.h"
#include "sizeclass/clock.h"
#include "sizeclass/keep_errno.h"

namespace pktmalloc {
namespace {

// We need 8 KiB; the rest is for what libraries in front of libc add.
constexpr size_t kStackBytes = size_t{128} << 10;

constinit std::atomic<uint32_t> asked = 0;  // futex word: 1 when the signal came

void on_signal(int) {
  const KeepErrno keep_errno;
  asked.store(1, std::memory_order_release);
  futex_wake_one(asked);
}

void run();
constinit OwnThread thread{lock_rank(OuterRank::kReportThread), "pktmalloc stats", kStackBytes,
                           run};

// Sleeps until the signal, the end or, with an interval, until `due`.
void sleep_until(uint64_t due) {
  const uint64_t interval = options().stats_interval_ms;
  for (;;) {
    const uint64_t now = clock_ms();
    if (asked.load(std::memory_order_acquire) != 0 || thread.ending() ||
        (interval > 0 && now >= due)) {
      return;
    }
    const uint64_t ms = due - now;
    const timespec rest{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1000000};
    futex_wait(asked, 0, interval > 0 ? &rest : nullptr);
  }
}

void run() {
  // Its own table of descriptors: the program may close any number, or rely on the lowest. Kernels
  // before 5.9 refuse; then it shares the program's.
  close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
  const uint64_t interval = options().stats_interval_ms;
  uint64_t due = clock_ms() + interval;
  for (;;) {
    sleep_until(due);
    if (thread.ending()) return;
    if (asked.exchange(0, std::memory_order_acquire) == 0) {
      due += interval;
      const uint64_t now = clock_ms();
      if (due <= now) due = now + interval;  // it does not make up for a slow write
    }
    report_meanwhile();
  }
}

bool asked_for() { return options().stats_interval_ms > 0 || options().stats_signal > 0; }

bool has_something() {
  return options().stats_path != nullptr || options().profile_path != nullptr ||
         options().sizes_path != nullptr;
}

// Sets the signal's handler and starts the thread.
void load() {
  if (!asked_for()) return;
  if (!has_something()) {
    message(
        "PKTMALLOC_STATS_INTERVAL and PKTMALLOC_STATS_SIGNAL do nothing without PKTMALLOC_STATS, "
        "PKTMALLOC_PROFILE or PKTMALLOC_SIZES");
    return;
  }
  if (options().stats_signal > 0) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(options().stats_signal, &action, nullptr);
  }
  consider_report_thread();
}

}  // namespace

void consider_report_thread() {
  if (thread.settled() || !asked_for() || !has_something()) return;
  thread.start();
}

constinit const Part report_thread_part{
    .load = load,
    .last_thread =
        [] {
          thread.end([] {
            asked.store(1, std::memory_order_release);
            futex_wake_one(asked);
          });
          asked.store(0, std::memory_order_relaxed);
        },
    .lock = []() AROUND_FORK { thread.mutex().lock(); },
    .unlock = []() AROUND_FORK { thread.mutex().unlock(); },
    .forked =
        [] {
          asked.store(0, std::memory_order_relaxed);
          thread.forget();
        },
};

}  // namespace pktmalloc
