// SPDX-License-Identifier: MIT
// A comparison as a page of charts.
#include <fmt/core.h>

#include "tools/command/compare/comparison.h"
#include "tools/command/page/chart.h"
#include "tools/command/page/page.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

constexpr const char* kOwn = "pktmalloc";
constexpr Unit kUnits[kFigures] = {Unit::kMilliseconds, Unit::kMilliseconds, Unit::kBytes,
                                   Unit::kCount};

std::string role_of(const std::string& name) {
  for (const char* known : {"glibc", "jemalloc", "mimalloc", "tcmalloc", kOwn}) {
    if (name == known) return name;
  }
  return "other";
}

void chart(Page& page, const Comparison& c, Figure figure) {
  std::vector<Bar> bars;
  for (const Contender* each : c.ranking(figure)) {
    const Samples& s = each->figures[figure];
    const std::string& name = each->allocator.name;
    const double ratio = c.ratio(*each, figure);
    Bar bar{name, {}, figure_text(figure, s.median()), s.values(), {}, name == kOwn};
    bar.parts.push_back({role_of(name), s.median(),
                         fmt::format("{}: median {}, mean {}, from {} to {}", name, bar.text,
                                     figure_text(figure, s.mean()), figure_text(figure, s.least()),
                                     figure_text(figure, s.most()))});
    if (ratio > 0 && each != &c.glibc()) bar.text += fmt::format(", \u00d7 {:.2f}", ratio);
    const std::string place = c.place(*each, figure);
    if (!place.empty()) bar.text += ", " + place;
    bars.push_back(bar);
  }
  std::string name = kFigureNames[figure];
  name[0] = static_cast<char>(toupper(name[0]));
  page.figure(name, kFigureMeanings[figure],
              draw_bars(name + (c.is_of_commands() ? " by command" : " by allocator"),
                        kUnits[figure], bars, kHalfFigure));
}

std::string remark(const Comparison& c, const Contender& contender, Figure figure) {
  if (&contender == &c.glibc() || !c.glibc().has_figures() || !c.can_tell()) return "";
  return c.differs_from_glibc(contender, figure) ? "beyond noise" : "within noise";
}

void table(Page& page, const Comparison& c, Figure figure) {
  std::vector<std::vector<std::string>> rows;
  for (const Contender* each : c.ranking(figure)) {
    const Samples& s = each->figures[figure];
    const double ratio = c.ratio(*each, figure);
    rows.push_back({each->allocator.name, figure_text(figure, s.median()),
                    figure_text(figure, s.mean()),
                    s.values().size() < 2 ? "-" : figure_text(figure, s.interval()),
                    figure_text(figure, s.least()), figure_text(figure, s.most()),
                    ratio > 0 ? fmt::format("{:.2f}", ratio) : "-", remark(c, *each, figure),
                    c.place(*each, figure)});
  }
  page.table({kFigureNames[figure], "median", "mean", "\u00b1 95 %", "least", "most",
              "/ " + c.first_name(), "from " + c.first_name(), ""},
             rows, kOwn);
}

}  // namespace

std::string page_of(const Comparison& c) {
  Page page(shell_line(c.words),
            fmt::format("{}, in turn, the order shuffled in every round.{}", c.runs_text(),
                        c.interrupted ? " Interrupted: these are fewer." : ""));
  if (c.is_of_commands()) page.list(c.commands());
  page.list(c.findings());
  if (!c.ranking(kTime).empty()) {
    page.section(
        "Figures",
        "Less is better in all. A bar is the median, every dot is a run; \u00d7 is the ratio to " +
            c.glibc().allocator.name +
            ". Best has the least median; ~ best is what the rank sum test, at 1 in 100, "
            "does not tell from it, for their runs mix.");
    page.begin_figures();
    for (unsigned i = 0; i < kFigures; ++i) chart(page, c, static_cast<Figure>(i));
    page.end_figures();
    page.section("Tables");
    for (unsigned i = 0; i < kFigures; ++i) table(page, c, static_cast<Figure>(i));
  }
  page.section("Libraries");
  std::vector<std::vector<std::string>> rows;
  for (const Contender& each : c.contenders) {
    rows.push_back({each.allocator.name,
                    each.allocator.library.empty() ? "none preloaded" : each.allocator.library});
  }
  page.table({"allocator", "library"}, rows);
  return page.finish();
}

}  // namespace pktmalloc
