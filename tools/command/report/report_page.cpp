// SPDX-License-Identifier: MIT
#include "tools/command/report/report_page.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/command/page/chart.h"
#include "tools/command/page/page.h"
#include "tools/command/report/class_charts.h"
#include "tools/command/report/places.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

constexpr size_t kMoments = 500;   // at most in a chart: two pixels each
constexpr size_t kProcesses = 30;  // in a chart of bars, the largest
constexpr size_t kOverTime = 8;    // of these, that are drawn over time

const char* const kPlaceRoles[kPlaces] = {"blue", "sky", "amber", "brown", "grey", "slate"};

double real(uint64_t n) { return static_cast<double>(n); }
bool has_times(const Series& series) { return series.last().time > series.first().time; }

// Moments that follow each other; of one second the last.
Series moments(const Series& series) {
  Series each{series.program, series.pid, {}};
  for (const Reading& r : series.readings) {
    if (!each.readings.empty() && each.last().time == r.time) each.readings.pop_back();
    each.readings.push_back(r);
  }
  return thinned(each, kMoments);
}

void memory_over_time(Page& page, const Series& all) {
  const Series series = moments(all);
  TimeChart chart;
  chart.label = "Memory of " + series.name() + " over time, by place";
  for (unsigned i = 0; i < kPlaces; ++i)
    chart.curves.push_back({kPlaceNames[i], kPlaceRoles[i], {}});
  chart.line = {"resident", "slate", {}};
  for (const Reading& r : series.readings) {
    const Places places = places_of(r.snapshot.process);
    chart.times.push_back(r.time);
    for (unsigned i = 0; i < kPlaces; ++i) chart.curves[i].values.push_back(real(places[i]));
    chart.line.values.push_back(real(r.snapshot.process.resident_bytes));
  }
  page.figure(
      "Memory of " + series.name(),
      fmt::format("bytes by place, over {}", seconds_text(all.last().time - all.first().time)),
      draw_areas(chart, kWideFigure, 340), draw_areas(chart, kNarrowFigure, 280), legend_of(chart));
}

// Where they are known.
void faults_over_time(Page& page, const Series& all) {
  TimeChart chart;
  chart.label = "Page faults of " + all.name() + " over time";
  chart.unit = Unit::kCount;
  chart.curves.push_back({"page faults", "amber", {}});
  const Reading* before = nullptr;
  for (const Reading& r : all.readings) {
    if (r.page_faults == 0) continue;
    if (before != nullptr && r.time > before->time && r.page_faults >= before->page_faults) {
      chart.times.push_back(r.time);
      chart.curves[0].values.push_back(real(r.page_faults - before->page_faults) /
                                       (r.time - before->time));
    }
    before = &r;
  }
  if (chart.times.size() < 2) return;
  page.figure("Page faults", "a second, of the whole process", draw_lines(chart, kWideFigure, 170),
              draw_lines(chart, kNarrowFigure, 170));
}

Bar bar_of(const std::string& name, const ProcessStatistics& p) {
  const Places places = places_of(p);
  Bar bar{name, {}, bytes_text(sum_of(places)), {}, {}};
  for (unsigned i = 0; i < kPlaces; ++i) {
    bar.parts.push_back({kPlaceRoles[i], real(places[i]),
                         fmt::format("{}: {} {}", name, kPlaceNames[i], bytes_text(places[i]))});
  }
  return bar;
}

// One beside the other.
void memory_by_process(Page& page, const std::vector<Series>& shown, size_t all,
                       const Reading& sum) {
  TimeChart chart;  // for its legend
  const Places places = places_of(sum.snapshot.process);
  for (unsigned i = 0; i < kPlaces; ++i) {
    chart.curves.push_back({kPlaceNames[i], kPlaceRoles[i], {real(places[i])}});
  }
  std::vector<Bar> bars;
  for (const Series& series : shown) {
    bars.push_back(bar_of(series.name(), series.last().snapshot.process));
  }
  const std::string label = "Memory by process and place";
  page.figure(shown.size() < all ? fmt::format("The {} largest of {} processes", shown.size(), all)
                                 : "Each process",
              "bytes, as it was last; the legend tells the sum of all",
              draw_bars(label, Unit::kBytes, bars, kWideFigure),
              draw_bars(label, Unit::kBytes, bars, kNarrowFigure), legend_of(chart));
}

void memory_by_place(Page& page, const Reading& r) {
  const Places places = places_of(r.snapshot.process);
  std::vector<Bar> bars;
  for (unsigned i = 0; i < kPlaces; ++i) {
    bars.push_back({kPlaceNames[i],
                    {{kPlaceRoles[i], real(places[i]), kPlaceMeanings[i]}},
                    bytes_text(places[i]) + ", " + share_text(places[i], sum_of(places)),
                    {},
                    {}});
  }
  const std::string label = "Memory by place";
  page.figure(label, "bytes, and share of all", draw_bars(label, Unit::kBytes, bars, kWideFigure),
              draw_bars(label, Unit::kBytes, bars, kNarrowFigure));
}

void classes(Page& page, const Snapshot& s) {
  std::vector<std::vector<std::string>> rows;
  for (const ClassStatistics& c : used_classes(
           s, [](const auto&a, const auto&b) { return a.committed_bytes > b.committed_bytes; })) {
    std::vector<std::string> row = {std::to_string(c.object_bytes), count_text(c.live)};
    const Places places = places_of(c);
    for (unsigned i = 0; i < kMetadata; ++i) row.push_back(bytes_text(places[i]));
    row.push_back(bytes_text(c.committed_bytes));
    for (const uint64_t n : {c.allocs, c.depot_takes, c.depot_gives, c.fills, c.drains}) {
      row.push_back(count_text(n));
    }
    rows.push_back(row);
  }
  page.table({"class", "objects", "live", "in threads", "in depot", "in slabs", "empty",
              "committed", "allocs", "takes", "gives", "fills", "drains"},
             rows);
}

void passed(Page& page, const Snapshot& s) {
  std::vector<std::vector<std::string>> rows;
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    std::vector<std::string> row = {kPassReasonNames[reason]};
    for (const uint64_t n : s.passed[reason]) row.push_back(count_text(n));
    if (std::any_of(s.passed[reason], s.passed[reason] + kSizeBands,
                    [](uint64_t n) { return n > 0; })) {
      rows.push_back(row);
    }
  }
  if (rows.empty()) return;
  page.section("Passed on",
               "Requests that the next allocator served, by reason and by size. Their "
               "memory is in no figure of this page.");
  page.table({"reason", "up to 32 KiB", "to 1 MiB", "to 32 MiB", "above"}, rows);
}

// Of one process over time, else nullptr.
const Reading* peak_of(const Series& series) {
  const auto less = [](const Reading& a, const Reading& b) {
    return a.snapshot.process.allocated_bytes < b.snapshot.process.allocated_bytes;
  };
  return has_times(series)
             ? &*std::max_element(series.readings.begin(), series.readings.end(), less)
             : nullptr;
}

void tiles(Page& page, const Snapshot& s, const Reading* peak) {
  const ProcessStatistics& p = s.process;
  std::vector<Page::Tile> tiles;
  if (peak != nullptr) {
    tiles.push_back({bytes_text(peak->snapshot.process.allocated_bytes), "most seen live"});
  }
  for (const Page::Tile& tile : std::initializer_list<Page::Tile>{
           {bytes_text(p.allocated_bytes), peak != nullptr ? "live at the end" : "live"},
           {bytes_text(p.committed_bytes), "committed"},
           {bytes_text(p.resident_bytes), "of it resident"},
           {bytes_text(p.waiting_bytes), "waiting to go back"},
           {count_text(p.threads_alive), p.threads_alive == 1 ? "thread" : "threads"},
           {short_text(real(p.allocs)), "allocations"}}) {
    tiles.push_back(tile);
  }
  page.tiles(tiles);
}

}  // namespace

std::string page_of(const std::vector<Series>& all, const Holders& holders) {
  const bool alone = all.size() == 1;
  const Series& one = all.front();
  const Reading last = alone ? one.last() : sum_of(all);
  const bool over_time = std::any_of(all.begin(), all.end(), has_times);
  size_t files = 0;
  for (const Series& series : all) files += series.readings.size();

  Page page(alone ? one.name() : fmt::format("{} processes", all.size()),
            fmt::format("{}{}; pktmalloc {}",
                        files == 1 ? "" : fmt::format("As of the last of {} readings, ", files),
                        moment_text(last.time), last.version));
  const Reading* const peak = alone ? peak_of(one) : nullptr;
  tiles(page, last.snapshot, peak);
  page.section("Where the memory is",
               "Every byte once: live objects are the program's; free ones lie in threads' "
               "magazines, in the depot, or in slabs beside others that are not; empty slabs hold "
               "nothing. The depot and the empty slabs go back to the system when nobody has "
               "needed them for an ageing interval (PKTMALLOC_AGE).");
  if (over_time) {
    page.paragraph(
        "The dashed line is what of the committed pages is in memory: pages that were "
        "made usable and never touched are not. The legend tells the last values.",
        "small");
  }
  std::vector<Series> largest = all;
  std::stable_sort(largest.begin(), largest.end(), [](const Series& a, const Series& b) {
    return sum_of(places_of(a.last().snapshot.process)) >
           sum_of(places_of(b.last().snapshot.process));
  });
  largest.resize(std::min(largest.size(), kProcesses));
  if (!alone) memory_by_process(page, largest, all.size(), last);
  if (!over_time && alone) memory_by_place(page, last);
  largest.resize(std::min(largest.size(), kOverTime));
  for (const Series& series : largest) {
    if (has_times(series)) memory_over_time(page, series);
    if (has_times(series)) faults_over_time(page, moments(series));
  }
  if (!holders.flame_graph.empty()) {
    page.section("Who holds it", "By the functions that allocated it. A click widens a bar.");
    page.frame("Flame graph of the heap", holders.flame_graph);
  }
  if (!holders.types.empty()) {
    page.section("What it is",
                 fmt::format("Live objects by type {}, when it held most of what was seen: types "
                             "are told by the first words of an object; - is not known.",
                             holders.types_when));
    page.table({"type", "objects", "bytes", "share"}, holders.types);
  }

  // A process that has ended holds little: what it held at most says more.
  const uint64_t live = last.snapshot.process.allocated_bytes;
  const bool at_peak = peak != nullptr && live < peak->snapshot.process.allocated_bytes / 10;
  const Snapshot& drawn = at_peak ? peak->snapshot : last.snapshot;
  page.section("Classes", std::string("The largest by what the bars show") +
                              (at_peak ? ", when most was live" : "") +
                              "; the table below has all" + (at_peak ? ", at the end." : "."));
  if (alone && over_time) {
    page.paragraph("An upright line is where the first reading was.", "small");
  }
  page.begin_figures();
  draw_live_bytes(page, drawn, alone && over_time ? &one.first().snapshot : nullptr);
  draw_slack(page, drawn);
  page.end_figures();
  if (alone && over_time) draw_live_bytes(page, moments(one));

  page.section("Exchange",
               "How often threads left their own magazines: takes and gives move a magazine from "
               "and to the depot, fills and drains move objects from and to slabs. One in 256 "
               "allocations is the best possible; many more tell that objects travel between "
               "threads.");
  if (alone && over_time) {
    draw_exchange(page, moments(one));
  } else {
    draw_exchange(page, last.snapshot);
  }
  page.section("All classes", "The largest first; counts are since start.");
  classes(page, last.snapshot);
  passed(page, last.snapshot);
  return page.finish();
}

}  // namespace pktmalloc
