// SPDX-License-Identifier: MIT
#include "tools/command/live/live_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/command/live/live_totals.h"

namespace pktmalloc {
namespace {

// A class, or all of them, with rates; negative: not known.
struct Row {
  ClassStatistics now{};
  double allocs_rate = -1, frees_rate = -1, trips_rate = -1;
  uint64_t live_bytes = 0;
  uint64_t slack_bytes = 0;  // committed and not live
  uint64_t cached_bytes = 0;
  std::vector<double> committed_then;
};

std::string exact(double n) { return fmt::format("{:.0f}", n); }
std::string percent(double n) { return fmt::format("{:.1f}", n); }

struct Column {
  char key;  // a letter of the title
  const char* title;
  int width;
  int rank;  // the highest is the first to go where there is no room
  std::string (*text)(double);
  double (*value)(const Row&);
  const char* help;
};

#define OF_ROW(expression) [](const Row& row) { return static_cast<double>(row.expression); }
constexpr Column kColumns[] = {
    {'c', "class", 7, 0, exact, OF_ROW(now.object_bytes), "bytes of an object"},
    {'l', "live", 7, 2, count, OF_ROW(now.live), "objects in the program's hands"},
    {'a', "allocs/s", 9, 3, count, OF_ROW(allocs_rate), "objects handed out, a second"},
    {'f', "frees/s", 9, 5, count, OF_ROW(frees_rate), "objects taken back, a second"},
    {'t', "threads", 8, 7, count, OF_ROW(now.cached_threads), "free objects in threads"},
    {'d', "depot", 7, 8, count, OF_ROW(now.cached_depot), "free objects in the depot"},
    {'s', "slabs", 7, 9, count, OF_ROW(now.cached_slabs), "free objects in slabs"},
    {'m', "committed", 10, 1, bytes, OF_ROW(now.committed_bytes), "bytes of memory behind it"},
    {'k', "slack", 7, 4, bytes, OF_ROW(slack_bytes), "of these, not in live objects"},
    {'p', "purged", 7, 6, bytes, OF_ROW(now.purged_bytes), "bytes given back, since start"},
    {'b', "bytes", 8, 10, bytes, OF_ROW(live_bytes), "bytes of live objects"},
    {'u', "used %", 8, 11, percent,
     [](const Row& row) {
       const auto committed = static_cast<double>(row.now.committed_bytes);
       return committed > 0 ? 100 * static_cast<double>(row.live_bytes) / committed : 0;
     },
     "their share of what is committed"},
    {'i', "trips/s", 9, 12, count, OF_ROW(trips_rate), "visits to depot and slabs, a second"},
};
#undef OF_ROW

// What a wide screen has behind them.
constexpr size_t kBarLeast = 20;
constexpr size_t kHistory = 24;
constexpr size_t kGap = 2;

const Column* column(char key) {
  const auto found = std::find_if(std::begin(kColumns), std::end(kColumns),
                                  [key](const Column& c) { return c.key == key; });
  return found != std::end(kColumns) ? found : nullptr;
}

// Those there is room for, in their order; the one sorted by is always there.
std::vector<const Column*> columns_in(size_t room, char sorted_by) {
  std::vector<const Column*> all;
  for (const Column& c : kColumns) all.push_back(&c);
  const auto width = [&] {
    size_t sum = 0;
    for (const Column* c : all) sum += static_cast<size_t>(c->width);
    return sum;
  };
  while (all.size() > 1 && width() > room) {
    all.erase(std::max_element(all.begin(), all.end(), [&](const Column* a, const Column* b) {
      const auto rank = [&](const Column* c) { return c->key == sorted_by ? -1 : c->rank; };
      return rank(a) < rank(b);
    }));
  }
  return all;
}

uint64_t trips(const ClassStatistics& c) {
  return c.depot_takes + c.depot_gives + c.fills + c.drains;
}

std::vector<Row> rows_of(const Watch& watch) {
  const HeapStatistics& now = watch.now().reading.snapshot.heap;
  std::vector<Row> rows;
  for (unsigned i = 0; i < now.classes; ++i) {
    if (now.of[i].allocs == 0 && now.of[i].fills == 0) continue;
    Row row;
    row.now = now.of[i];
    row.live_bytes = row.now.live * row.now.object_bytes;
    const uint64_t committed = row.now.committed_bytes;
    row.slack_bytes = committed > row.live_bytes ? committed - row.live_bytes : 0;
    row.cached_bytes = (row.now.cached_threads + row.now.cached_depot + row.now.cached_slabs) *
                       row.now.object_bytes;
    if (watch.before() != nullptr) {
      const ClassStatistics& before = watch.before()->reading.snapshot.heap.of[i];
      row.allocs_rate = rate(row.now.allocs, before.allocs, watch);
      row.frees_rate = rate(row.now.frees, before.frees, watch);
      row.trips_rate = rate(trips(row.now), trips(before), watch);
    }
    for (const Moment& m : watch.history())
      row.committed_then.push_back(m.class_committed_bytes[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

Row sum_of(const std::vector<Row>& rows, const Watch& watch) {
  Row sum;
  if (watch.before() != nullptr) sum.allocs_rate = sum.frees_rate = sum.trips_rate = 0;
  for (const Row& row : rows) {
    sum.now.live += row.now.live;
    sum.now.cached_threads += row.now.cached_threads;
    sum.now.cached_depot += row.now.cached_depot;
    sum.now.cached_slabs += row.now.cached_slabs;
    sum.now.committed_bytes += row.now.committed_bytes;
    sum.now.purged_bytes += row.now.purged_bytes;
    sum.live_bytes += row.live_bytes;
    sum.slack_bytes += row.slack_bytes;
    sum.cached_bytes += row.cached_bytes;
    if (watch.before() == nullptr) continue;
    sum.allocs_rate += row.allocs_rate;
    sum.frees_rate += row.frees_rate;
    sum.trips_rate += row.trips_rate;
  }
  for (const Moment& m : watch.history()) sum.committed_then.push_back(m.committed_bytes);
  return sum;
}

// The columns of this screen, and how wide the bar behind them is; 0: there is none.
struct Layout {
  std::vector<const Column*> columns;
  size_t bar = 0;
  double most_committed = 0;  // what fills the bar
  bool blocks;
  char sorted_by;
};

Layout layout_for(const Screen& screen, char sorted_by, const std::vector<Row>& rows) {
  Layout layout{columns_in(screen.columns, sorted_by), 0, 0, screen.blocks, sorted_by};
  size_t taken = 2 * kGap + kHistory;
  for (const Column* c : layout.columns) taken += static_cast<size_t>(c->width);
  if (screen.columns >= taken + kBarLeast) layout.bar = screen.columns - taken;
  for (const Row& row : rows) {
    layout.most_committed =
        std::max(layout.most_committed, static_cast<double>(row.now.committed_bytes));
  }
  return layout;
}

// The key of each column is underlined in its title.
Line head_of(const Layout& layout) {
  Line line;
  for (const Column* c : layout.columns) {
    const std::string text = fmt::format("{:>{}}", c->title, c->width);
    const size_t at = text.find(c->key);
    line.push_back({text.substr(0, at), Style::kReversed});
    line.push_back({text.substr(at, 1), Style::kKey});
    line.push_back({text.substr(at + 1), Style::kReversed});
  }
  if (layout.bar > 0) {
    line.push_back({fmt::format("  {:<{}}  {:<{}}", "live, cached and free memory", layout.bar,
                                "committed until now", kHistory),
                    Style::kReversed});
  }
  return line;
}

Line line_of(const Row& row, const Layout& layout, bool is_sum) {
  Line line;
  for (const Column* c : layout.columns) {
    const double value = c->value(row);
    const bool is_name = is_sum && c->key == 'c';
    const Style style = is_sum || c->key == layout.sorted_by ? Style::kBold
                        : value <= 0                         ? Style::kDim
                                                             : Style::kPlain;
    line.push_back({fmt::format("{:>{}}", is_name ? "all" : c->text(value), c->width), style});
  }
  if (layout.bar == 0) return line;
  const auto live = static_cast<double>(row.live_bytes);
  const auto cached = static_cast<double>(row.cached_bytes);
  const auto committed = static_cast<double>(row.now.committed_bytes);
  line.push_back({std::string(kGap, ' ')});
  for (Span& span :
       memory_bar(live, cached, std::max(committed - live - cached, 0.0),
                  is_sum ? committed : layout.most_committed, layout.bar, layout.blocks)) {
    line.push_back(std::move(span));
  }
  line.push_back({std::string(kGap, ' ')});
  line.push_back({sparkline(row.committed_then, kHistory, layout.blocks), Style::kLive});
  return line;
}

}  // namespace

std::string column_keys() {
  std::string keys;
  for (const Column& c : kColumns) keys += (keys.empty() ? "" : " ") + std::string(1, c.key);
  return keys;
}

bool is_column_key(char key) { return column(key) != nullptr; }

std::string column_title(char key) { return column(key)->title; }

std::vector<std::string> column_help() {
  std::vector<std::string> lines;
  for (const Column& c : kColumns) {
    lines.push_back(fmt::format("  {}  {:<10} {}", c.key, c.title, c.help));
  }
  return lines;
}

LiveTable live_table(const Watch& watch, Order order, const Screen& screen) {
  LiveTable table;
  table.totals = live_totals(watch, screen);
  table.graphs = live_graphs(watch, screen);
  std::vector<Row> rows = rows_of(watch);
  const Layout layout = layout_for(screen, order.key, rows);
  table.head = head_of(layout);
  table.sum = line_of(sum_of(rows, watch), layout, true);
  const Column& by = *column(order.key);
  // The largest first, but classes ascending.
  const bool ascending = (order.key == 'c') != order.reversed;
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return ascending ? by.value(a) < by.value(b) : by.value(a) > by.value(b);
  });
  for (const Row& row : rows) table.rows.push_back(line_of(row, layout, false));
  return table;
}

}  // namespace pktmalloc
