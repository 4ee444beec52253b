// SPDX-License-Identifier: MIT
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/process/process.h"
#include "preload/process/thread.h"
#include "preload/reports/report.h"
#include "sizeclass/base/clock.h"
#include "sizeclass/base/memory.h"

namespace pktmalloc {
namespace {

// We need 8 KiB; the rest is for what libraries in front of libc add.
constexpr size_t kStackBytes = size_t{128} << 10;

void run();
constinit OwnThread thread{part_rank(PartId::report_thread), "pktmalloc stats", kStackBytes, run};

// Nobody can be told of less: a knock needs a descriptor, and none may be left.
constexpr uint64_t kLongestMs = 10'000;

EVERY_PROCESS uint64_t interval() { return options().reports() ? options().stats_interval_ms : 0; }

constinit std::atomic<bool> called = false;  // control was asked for from outside

bool controls() {
  return options().control == Control::kAlways || called.load(std::memory_order_relaxed);
}

// Whoever called may trace this process; but that is not all that it must have a say in.
void answer_call() {
  if (memory::in_strict_mode) return;  // another thread will
  heap.due().answer();
  if (options().control == Control::kNever || prctl(PR_GET_DUMPABLE) != 1) return;
  called.store(true, std::memory_order_relaxed);
  thread.nudge();
}

void run() {
  // What libraries allocate here must not make it one of the program's threads.
  this_thread.direct = true;
  // Its own table of descriptors: the program may close any number, or rely on the lowest. Kernels
  // before 5.9 refuse; then it shares the program's.
  const bool apart = close_descriptors(3, ~0U, CLOSE_RANGE_UNSHARE) == 0;
  // Who reads the program's output waits until all have closed it.
  if (apart) close_descriptors(STDIN_FILENO, STDOUT_FILENO, 0);
  bool controlled = false, tried = false;
  uint64_t due = clock_ms() + interval();
  while (!thread.ending()) {
    if (controls() && !tried) {
      tried = true;
      if (!apart) message("pktmalloc tell cannot reach this process: it may not call close_range");
      controlled = apart && open_control();
    }
    if (!controlled && interval() == 0) return;
    // Until a report is due, if there is an interval, or the end; or a little less.
    const uint64_t left = interval() == 0 ? kLongestMs : due - std::min(clock_ms(), due);
    controlled ? serve_control(static_cast<int>(std::min(left, kLongestMs))) : thread.rest(left);
    const uint64_t now = clock_ms();
    if (interval() == 0 || now < due || thread.ending()) continue;
    due += interval();
    if (due <= now) due = now + interval();  // it does not make up for a slow write
    report_meanwhile();
  }
  // The thread counts as ended before its table is gone, and another may want the name.
  if (controlled) close_descriptors(0, ~0U, 0);
}

EVERY_PROCESS void load() {
  if (options().stats_interval_ms > 0 && !options().reports()) {
    message(
        "PKTMALLOC_STATS_INTERVAL does nothing without PKTMALLOC_STATS, PKTMALLOC_PROFILE or "
        "PKTMALLOC_SIZES");
  }
  consider_report_thread();
}

EVERY_PROCESS void last_thread() {
  thread.end([] {
    if (controls()) knock_at_control();
  });
}

EVERY_PROCESS void forked() {
  thread.forget();
  if (called.load(std::memory_order_relaxed)) called.store(false, std::memory_order_relaxed);
  // Its next allocation starts the thread, rather than its next trip.
  if (controls()) this_thread.allocates_from = kNoCache;
}

}  // namespace

EVERY_PROCESS void consider_report_thread() {
  if (heap.due().is_called()) [[unlikely]]
    answer_call();
  if (!thread.settled() && (controls() || interval() > 0)) thread.start(in_own_memory);
}

constinit const Part report_thread_part{
    .load = load, .last_thread = last_thread, .mutexes = {&thread.mutex}, .forked = forked};

}  // namespace pktmalloc
