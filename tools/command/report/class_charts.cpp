// SPDX-License-Identifier: MIT
#include "tools/command/report/class_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "tools/command/page/chart.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

constexpr size_t kBars = 14;   // classes in a chart of bars
constexpr size_t kCurves = 6;  // classes that are drawn over time

using Quantity = uint64_t (*)(const ClassStatistics&);

double real(uint64_t n) { return static_cast<double>(n); }
std::string class_name(const ClassStatistics& c) { return std::to_string(c.object_bytes); }

uint64_t live_bytes(const ClassStatistics& c) { return c.live * c.object_bytes; }
uint64_t slack_bytes(const ClassStatistics& c) {
  return c.committed_bytes - std::min(c.committed_bytes, live_bytes(c));
}
uint64_t exchanges(const ClassStatistics& c) {
  return c.depot_takes + c.depot_gives + c.fills + c.drains;
}

// The classes with the most of it.
std::vector<ClassStatistics> leading(const Snapshot& s, Quantity of, size_t most) {
  std::vector<ClassStatistics> classes =
      used_classes(s, [](const ClassStatistics&, const ClassStatistics&) { return false; });
  std::stable_sort(classes.begin(), classes.end(),
                   [of](const auto& a, const auto& b) { return of(a) > of(b); });
  while (classes.size() > most || (!classes.empty() && of(classes.back()) == 0)) classes.pop_back();
  return classes;
}

struct Exchange {
  const char *name, *role;
  Quantity of;
};
const Exchange kExchange[] = {
    {"depot takes", "blue", [](const ClassStatistics& c) { return c.depot_takes; }},
    {"depot gives", "amber", [](const ClassStatistics& c) { return c.depot_gives; }},
    {"fills", "slate", [](const ClassStatistics& c) { return c.fills; }},
    {"drains", "grey", [](const ClassStatistics& c) { return c.drains; }}};

// A second, from each reading to the next; a counter that starts anew counts from 0.
std::vector<double> rates(const Series& series, uint64_t object_bytes, Quantity of) {
  std::vector<double> each;
  for (size_t i = 1; i < series.readings.size(); ++i) {
    const Reading& from = series.readings[i - 1];
    const Reading& to = series.readings[i];
    const uint64_t before = of(class_of_size(from.snapshot, object_bytes));
    const uint64_t after = of(class_of_size(to.snapshot, object_bytes));
    each.push_back(real(after - (after >= before ? before : 0)) / (to.time - from.time));
  }
  each.insert(each.begin(), each.front());
  return each;
}

// What was exchanged between the two, by class.
Snapshot between(const Snapshot& before, const Snapshot& after) {
  Snapshot change = after;
  for (unsigned i = 0; i < change.heap.classes; ++i) {
    ClassStatistics& c = change.heap.of[i];
    const ClassStatistics from = class_of_size(before, c.object_bytes);
    for (auto key : {&ClassStatistics::depot_takes, &ClassStatistics::depot_gives,
                     &ClassStatistics::fills, &ClassStatistics::drains}) {
      c.*key -= c.*key >= from.*key ? from.*key : 0;
    }
  }
  return change;
}

}  // namespace

void draw_live_bytes(Page& page, const Snapshot& now, const Snapshot* before) {
  std::vector<Bar> bars;
  for (const ClassStatistics& c : leading(now, live_bytes, kBars)) {
    Bar bar{class_name(c),
            {{"blue", real(live_bytes(c)),
              fmt::format("{} objects of {} bytes", count_text(c.live), c.object_bytes)}},
            bytes_text(live_bytes(c)),
            {},
            {}};
    const uint64_t then = before ? live_bytes(class_of_size(*before, c.object_bytes)) : 0;
    if (then > 0) bar.before = real(then);
    bars.push_back(bar);
  }
  page.figure("Live bytes by class", "bytes of live objects",
              draw_bars("Live bytes by class", Unit::kBytes, bars, kHalfFigure));
}

void draw_live_bytes(Page& page, const Series& moments) {
  const char* const roles[kCurves] = {"blue", "amber", "green", "pink", "brown", "sky"};
  // By their peaks, so that what was freed since is seen, too.
  Snapshot peak = moments.last().snapshot;
  for (const Reading& r : moments.readings) {
    for (unsigned i = 0; i < peak.heap.classes; ++i) {
      ClassStatistics& c = peak.heap.of[i];
      c.live = std::max(c.live, class_of_size(r.snapshot, c.object_bytes).live);
    }
  }
  TimeChart chart;
  chart.label = "Live bytes of the largest classes over time";
  for (const Reading& r : moments.readings) chart.times.push_back(r.time);
  for (const ClassStatistics& c : leading(peak, live_bytes, kCurves)) {
    Curve curve{class_name(c), roles[chart.curves.size()], {}};
    for (const Reading& r : moments.readings) {
      curve.values.push_back(real(live_bytes(class_of_size(r.snapshot, c.object_bytes))));
    }
    chart.curves.push_back(curve);
  }
  if (chart.curves.empty()) return;
  page.figure("Live bytes by class over time", "the classes with the highest peaks",
              draw_lines(chart, kWideFigure, 260), draw_lines(chart, kNarrowFigure, 220),
              legend_of(chart));
}

void draw_slack(Page& page, const Snapshot& now) {
  std::vector<Bar> bars;
  for (const ClassStatistics& c : leading(now, slack_bytes, kBars)) {
    const std::string share = share_text(live_bytes(c), c.committed_bytes);
    const std::string title = fmt::format("class {}: {} committed, {} live, {} slack",
                                          c.object_bytes, bytes_text(c.committed_bytes),
                                          bytes_text(live_bytes(c)), bytes_text(slack_bytes(c)));
    bars.push_back({class_name(c),
                    {{"blue", real(std::min(live_bytes(c), c.committed_bytes)), title},
                     {"grey", real(slack_bytes(c)), title}},
                    share + " live",
                    {},
                    {}});
  }
  page.figure("Slack by class", "committed bytes: blue is live, grey is not",
              draw_bars("Committed and live bytes by class", Unit::kBytes, bars, kHalfFigure));
}

void draw_exchange(Page& page, const Series& moments) {
  page.begin_figures();
  const Snapshot change = between(moments.first().snapshot, moments.last().snapshot);
  for (const ClassStatistics& c : leading(change, exchanges, kCurves)) {
    TimeChart chart;
    chart.label = fmt::format("Exchange of class {} over time", c.object_bytes);
    chart.unit = Unit::kCount;
    for (const Reading& r : moments.readings) chart.times.push_back(r.time);
    for (const Exchange& e : kExchange) {
      chart.curves.push_back({e.name, e.role, rates(moments, c.object_bytes, e.of)});
    }
    page.figure("Class " + class_name(c), "a second", draw_lines(chart, kHalfFigure, 170), "",
                legend_of(chart));
  }
  page.end_figures();
}

void draw_exchange(Page& page, const Snapshot& now) {
  TimeChart chart;  // for its legend
  chart.unit = Unit::kCount;
  for (const Exchange& e : kExchange) chart.curves.push_back({e.name, e.role, {0}});
  std::vector<Bar> bars;
  for (const ClassStatistics& c : leading(now, exchanges, kBars)) {
    Bar bar{class_name(c), {}, short_text(real(exchanges(c))), {}, {}};
    for (size_t i = 0; i < std::size(kExchange); ++i) {
      const double count = real(kExchange[i].of(c));
      chart.curves[i].values[0] += count;
      bar.parts.push_back(
          {kExchange[i].role, count,
           fmt::format("class {}: {} {}", c.object_bytes, count_text(static_cast<uint64_t>(count)),
                       kExchange[i].name)});
    }
    bars.push_back(bar);
  }
  const std::string label = "Exchange by class, since start";
  page.figure("Since start", "times, by class", draw_bars(label, Unit::kCount, bars, kWideFigure),
              draw_bars(label, Unit::kCount, bars, kNarrowFigure), legend_of(chart));
}

}  // namespace pktmalloc
