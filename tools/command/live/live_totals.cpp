// SPDX-License-Identifier: MIT
#include "tools/command/live/live_totals.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>

#include "preload/formats/bytes.h"
#include "tools/command/system/library.h"
#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

std::string passed_on(const Watch& watch) {
  const Snapshot& now = watch.now().reading.snapshot;
  std::string text =
      fmt::format("passed on  {:<11}", count(static_cast<double>(now.process.passed)));
  if (watch.before() != nullptr) {
    const uint64_t before = watch.before()->reading.snapshot.process.passed;
    text += fmt::format("{}/s", count(rate(now.process.passed, before, watch)));
  }
  const char* separator = watch.before() != nullptr ? ": " : "";
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    uint64_t sum = 0;
    for (const uint64_t n : now.passed[reason]) sum += n;
    if (sum == 0) continue;
    text += fmt::format("{}{} {}", separator, kPassReasonNames[reason],
                        count(static_cast<double>(sum)));
    separator = ", ";
  }
  return text;
}

std::string title(const Watch& watch, size_t columns) {
  const Reading& r = watch.now().reading;
  const time_t when = static_cast<time_t>(r.time);
  struct tm local {};
  localtime_r(&when, &local);
  char clock[16];
  strftime(clock, sizeof clock, "%H:%M:%S", &local);
  const std::string text = fmt::format("{:.24}, process {}, pktmalloc {}{}", printable(r.program),
                                       r.pid, r.version, remark(watch.now().library));
  const size_t room = std::max<size_t>(columns, 20) - 10;
  return fmt::format("{:<{}} {:>9}", fitting(text, room), room, clock);
}

// The name of a line, in eleven columns; then a history of `values`, in words how long and the
// most.
Line history_line(const char* name, const std::vector<double>& values, const std::string& most,
                  const Watch& watch, const Screen& screen) {
  const std::vector<Moment>& all = watch.history();
  constexpr size_t kAround = 11 + 24;
  const size_t width = screen.columns > kAround + 10 ? screen.columns - kAround : 10;
  const size_t shown = std::min(width, all.size());
  const auto over = std::chrono::duration<double>(all.back().at - all[all.size() - shown].at);
  return {{fmt::format("{:<11}", name)},
          {sparkline(values, width, screen.blocks), Style::kLive},
          {fmt::format("  most {} in {}", most, elapsed_text(over.count()))}};
}

}  // namespace

std::string bytes(double n) {
  const char* unit = "BKMGTPE";
  for (; n >= 1023.5 && unit[1] != '\0'; ++unit) n /= 1024;
  return fmt::format("{:.{}f}{}", n, n < 99.95 && *unit != 'B' ? 1 : 0, *unit);
}

std::string count(double n) {
  if (n < 0) return "-";
  if (n < 99999.5) return fmt::format("{:.0f}", n);
  const char* unit = "kMGTPE";
  for (n /= 1000; n >= 999.5 && unit[1] != '\0'; ++unit) n /= 1000;
  return fmt::format("{:.{}f}{}", n, n < 99.95 ? 1 : 0, *unit);
}

std::vector<Line> live_totals(const Watch& watch, const Screen& screen) {
  const ProcessStatistics& p = watch.now().reading.snapshot.process;
  const auto text = [](uint64_t n) { return std::string(Bytes(n).text); };
  const std::string lines[] = {
      fmt::format("allocated  {:<10} in live objects; threads: {} alive, {} seen; {} forks",
                  text(p.allocated_bytes), p.threads_alive, p.threads_seen, p.forks),
      fmt::format("cached     {:<10} in threads, {} in the depot, {} in slabs",
                  text(p.cached_threads_bytes), text(p.cached_depot_bytes),
                  text(p.cached_slabs_bytes)),
      fmt::format("committed  {:<10} = active {} + free {}; RSS {}", text(p.committed_bytes),
                  text(p.active_bytes), text(p.free_bytes), text(watch.now().rss_bytes)),
      fmt::format("purged     {:<10} so far, {} waiting to go; metadata {}", text(p.purged_bytes),
                  text(p.waiting_bytes), text(p.metadata_bytes)),
      passed_on(watch),
  };
  std::vector<Line> all = {{{title(watch, screen.columns), Style::kBold}}};
  for (const std::string& line : lines) all.push_back({{fitting(line, screen.columns)}});
  const auto add_limit = [&](const char* name, uint64_t limit) {
    if (limit == 0) return;
    const std::string line =
        fmt::format("{:<11}{:<10} {}", name, text(limit), Distance(p.limited_bytes, limit).text);
    all.push_back({{fitting(line, screen.columns)}});
  };
  add_limit("limit", p.limit_bytes);
  add_limit("soft limit", p.soft_limit_bytes);
  return all;
}

std::vector<Line> live_graphs(const Watch& watch, const Screen& screen) {
  const ProcessStatistics& p = watch.now().reading.snapshot.process;
  const auto committed = static_cast<double>(p.committed_bytes);
  const auto live = static_cast<double>(p.allocated_bytes);
  const auto cached =
      static_cast<double>(p.cached_threads_bytes + p.cached_depot_bytes + p.cached_slabs_bytes);
  constexpr size_t kAround = 11 + 18;
  const size_t width = screen.columns > kAround + 10 ? screen.columns - kAround : 10;
  Line memory = memory_bar(live, cached, std::max(committed - live - cached, 0.0), committed, width,
                           screen.blocks);
  memory.insert(memory.begin(), {"memory     "});
  for (const auto& [name, style] :
       {std::pair{"  live", Style::kLive}, {" cached", Style::kCached}, {" free", Style::kFree}}) {
    memory.push_back({name, style});
  }
  std::vector<double> committed_then, rates;
  for (const Moment& moment : watch.history()) {
    committed_then.push_back(moment.committed_bytes);
    rates.push_back(moment.allocs_rate);
  }
  const auto most = [](const std::vector<double>& values) {
    return *std::max_element(values.begin(), values.end());
  };
  return {memory,
          history_line("committed", committed_then, bytes(most(committed_then)), watch, screen),
          history_line("allocs/s", rates, count(most(rates)), watch, screen)};
}

}  // namespace pktmalloc
