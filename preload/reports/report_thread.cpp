// SPDX-License-Identifier: MIT
#include "preload/reports/report_thread.h"

#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>

#include "preload/base/lock_rank.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/own_thread.h"
#include "preload/process/part.h"
#include "preload/process/thread.h"
#include "preload/reports/control.h"
#include "preload/reports/report.h"
#include "sizeclass/clock.h"

namespace pktmalloc {
namespace {

// We need 8 KiB; the rest is for what libraries in front of libc add.
constexpr size_t kStackBytes = size_t{128} << 10;

void run();
constinit OwnThread thread{lock_rank(OuterRank::kReportThread), "pktmalloc stats", kStackBytes,
                           run};

// Nobody can be told of less: a knock needs a descriptor, and none may be left.
constexpr uint64_t kLongestMs = 10'000;

bool has_something() {
  return options().stats_path != nullptr || options().profile_path != nullptr ||
         options().sizes_path != nullptr;
}

uint64_t interval() { return has_something() ? options().stats_interval_ms : 0; }

bool wanted() { return options().control || interval() > 0; }

// Until a report is due, if there is an interval, or the end; or a little less.
void rest(uint64_t due, bool controlled) {
  const uint64_t now = clock_ms();
  const uint64_t left = interval() == 0 ? kLongestMs : due > now ? due - now : 0;
  if (controlled) return serve_control(static_cast<int>(std::min(left, kLongestMs)));
  thread.rest({static_cast<time_t>(left / 1000), static_cast<long>(left % 1000) * 1000000});
}

void run() {
  // What libraries allocate here must not make it one of the program's threads.
  this_thread.direct = true;
  // Its own table of descriptors: the program may close any number, or rely on the lowest. Kernels
  // before 5.9 refuse; then it shares the program's.
  const bool apart = close_descriptors(3, ~0U, CLOSE_RANGE_UNSHARE) == 0;
  // Who reads the program's output waits until all have closed it.
  if (apart) close_descriptors(STDIN_FILENO, STDOUT_FILENO, 0);
  if (options().control && !apart) {
    message("pktmalloc tell cannot reach this process: it needs Linux 5.9");
  }
  const bool controlled = options().control && apart && open_control();
  if (!controlled && interval() == 0) return;
  uint64_t due = clock_ms() + interval();
  while (!thread.ending()) {
    rest(due, controlled);
    const uint64_t now = clock_ms();
    if (interval() == 0 || now < due || thread.ending()) continue;
    due += interval();
    if (due <= now) due = now + interval();  // it does not make up for a slow write
    report_meanwhile();
  }
  // The thread counts as ended before its table is gone, and another may want the name.
  if (controlled) close_descriptors(0, ~0U, 0);
}

void load() {
  if (options().stats_interval_ms > 0 && !has_something()) {
    message(
        "PKTMALLOC_STATS_INTERVAL does nothing without PKTMALLOC_STATS, PKTMALLOC_PROFILE or "
        "PKTMALLOC_SIZES");
  }
  consider_report_thread();
}

}  // namespace

void consider_report_thread() {
  if (thread.settled() || !wanted()) return;
  thread.start();
}

constinit const Part report_thread_part{
    .load = load,
    .last_thread =
        [] {
          thread.end([] {
            if (options().control) knock_at_control();
          });
        },
    .mutexes = {&thread.mutex},
    .forked =
        [] {
          thread.forget();
          // Its next allocation starts the thread, rather than its next trip.
          if (options().control) this_thread.allocates_from = const_cast<Cache*>(&kNullCache);
        },
};

}  // namespace pktmalloc
