// SPDX-License-Identifier: MIT
#include "tools/command/live/live_table.h"

#include <time.h>

#include <algorithm>

#include "preload/contract/bytes.h"
#include "tools/command/system/library.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

// A class, or all of them, with rates; negative: not known.
struct Row {
  ClassStatistics now;
  double allocs_rate, frees_rate;
  uint64_t slack_bytes;  // committed and not live
};

// At most six characters: 999B, 22.1M.
std::string bytes(double n) {
  const char* unit = "BKMGTPE";
  for (; n >= 1023.5 && unit[1] != '\0'; ++unit) n /= 1024;
  return fmt::format("{:.{}f}{}", n, n < 99.95 && *unit != 'B' ? 1 : 0, *unit);
}

// At most six characters: 99999, 123k, 12.3M.
std::string count(double n) {
  if (n < 0) return "-";
  if (n < 99999.5) return fmt::format("{:.0f}", n);
  const char* unit = "kMGTPE";
  for (n /= 1000; n >= 999.5 && unit[1] != '\0'; ++unit) n /= 1000;
  return fmt::format("{:.{}f}{}", n, n < 99.95 ? 1 : 0, *unit);
}

std::string exact(double n) { return fmt::format("{:.0f}", n); }

struct Column {
  char key;
  const char* title;
  int width;
  std::string (*text)(double);
  double (*value)(const Row&);
};

#define OF_NOW(field) [](const Row& row) { return static_cast<double>(row.now.field); }
constexpr Column kColumns[] = {
    {'c', "class", 7, exact, OF_NOW(object_bytes)},
    {'l', "live", 7, count, OF_NOW(live)},
    {'a', "allocs/s", 9, count, [](const Row& row) { return row.allocs_rate; }},
    {'f', "frees/s", 9, count, [](const Row& row) { return row.frees_rate; }},
    {'t', "threads", 8, count, OF_NOW(cached_threads)},
    {'d', "depot", 7, count, OF_NOW(cached_depot)},
    {'s', "slabs", 7, count, OF_NOW(cached_slabs)},
    {'m', "committed", 10, bytes, OF_NOW(committed_bytes)},
    {'k', "slack", 7, bytes, [](const Row& row) { return static_cast<double>(row.slack_bytes); }},
    {'p', "purged", 7, bytes, OF_NOW(purged_bytes)},
};
#undef OF_NOW

const Column* column(char key) {
  const auto found = std::find_if(std::begin(kColumns), std::end(kColumns),
                                  [key](const Column& c) { return c.key == key; });
  return found != std::end(kColumns) ? found : nullptr;
}

// A second, from the sample before; counters that fell were in the middle of a change.
double rate(uint64_t now, uint64_t before, double seconds) {
  return now > before ? static_cast<double>(now - before) / seconds : 0;
}

double seconds_between(const Watch& watch) {
  return std::chrono::duration<double>(watch.now().at - watch.before()->at).count();
}

std::vector<Row> rows_of(const Watch& watch) {
  const HeapStatistics& now = watch.now().reading.snapshot.heap;
  std::vector<Row> rows;
  for (unsigned i = 0; i < now.classes; ++i) {
    const uint64_t live_bytes = now.of[i].live * now.of[i].object_bytes;
    const uint64_t committed = now.of[i].committed_bytes;
    Row row{now.of[i], -1, -1, committed > live_bytes ? committed - live_bytes : 0};
    if (row.now.allocs == 0 && row.now.fills == 0) continue;
    if (watch.before() != nullptr) {
      const ClassStatistics& before = watch.before()->reading.snapshot.heap.of[i];
      row.allocs_rate = rate(row.now.allocs, before.allocs, seconds_between(watch));
      row.frees_rate = rate(row.now.frees, before.frees, seconds_between(watch));
    }
    rows.push_back(row);
  }
  return rows;
}

Row sum_of(const std::vector<Row>& rows, bool with_rates) {
  Row sum{{}, with_rates ? 0.0 : -1.0, with_rates ? 0.0 : -1.0, 0};
  for (const Row& row : rows) {
    sum.now.live += row.now.live;
    sum.now.cached_threads += row.now.cached_threads;
    sum.now.cached_depot += row.now.cached_depot;
    sum.now.cached_slabs += row.now.cached_slabs;
    sum.now.committed_bytes += row.now.committed_bytes;
    sum.now.purged_bytes += row.now.purged_bytes;
    sum.slack_bytes += row.slack_bytes;
    if (!with_rates) continue;
    sum.allocs_rate += row.allocs_rate;
    sum.frees_rate += row.frees_rate;
  }
  return sum;
}

std::string line(const Row& row) {
  std::string text;
  for (const Column& c : kColumns) text += fmt::format("{:>{}}", c.text(c.value(row)), c.width);
  return text;
}

std::string passed_on(const Watch& watch) {
  const Snapshot& now = watch.now().reading.snapshot;
  std::string text =
      fmt::format("passed on  {:<11}", count(static_cast<double>(now.process.passed)));
  if (watch.before() != nullptr) {
    const uint64_t before = watch.before()->reading.snapshot.process.passed;
    text += fmt::format("{}/s", count(rate(now.process.passed, before, seconds_between(watch))));
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

std::string title(const Watch& watch) {
  const Reading& r = watch.now().reading;
  const time_t when = static_cast<time_t>(r.time);
  struct tm local {};
  localtime_r(&when, &local);
  char clock[16];
  strftime(clock, sizeof clock, "%H:%M:%S", &local);
  const std::string text = fmt::format("{:.24}, process {}: pktmalloc {}{}", printable(r.program),
                                       r.pid, r.version, remark(watch.now().library));
  return fmt::format("{:<70.70} {:>8}", text, clock);
}

std::vector<std::string> totals_of(const Watch& watch) {
  const ProcessStatistics& p = watch.now().reading.snapshot.process;
  const auto text = [](uint64_t n) { return std::string(Bytes(n).text); };
  return {
      title(watch),
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
}

}  // namespace

bool is_column_key(char key) { return column(key) != nullptr; }

std::string column_title(char key) { return column(key)->title; }

LiveTable live_table(const Watch& watch, Order order) {
  LiveTable table;
  table.totals = totals_of(watch);
  for (const Column& c : kColumns) table.head += fmt::format("{:>{}}", c.title, c.width);
  std::vector<Row> rows = rows_of(watch);
  table.sum = line(sum_of(rows, watch.before() != nullptr));
  table.sum.replace(0, 7, "    all");
  const Column& by = *column(order.key);
  // The largest first, but classes ascending.
  const bool ascending = (order.key == 'c') != order.reversed;
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return ascending ? by.value(a) < by.value(b) : by.value(a) > by.value(b);
  });
  for (const Row& row : rows) table.rows.push_back(line(row));
  return table;
}

}  // namespace pktmalloc
