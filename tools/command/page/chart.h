// SPDX-License-Identifier: MIT
// Chart: values over time as stacked areas or as lines, and bars; drawn as SVG for a page.
//
// A role is the name of a colour of page.cpp. Values over time have one legend in HTML, so that it
// wraps on a telephone; everything else stands in the picture. Widths are in CSS pixels, and the
// type has the size of the page's only if the picture is not scaled: draw one for each width.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/command/page/axis.h"

namespace pktmalloc {

struct Curve {
  std::string name, role;
  std::vector<double> values;  // one for each time
};

struct TimeChart {
  std::string label;  // what it shows, in one sentence
  Unit unit = Unit::kBytes;
  std::vector<double> times;  // seconds, ascending
  std::vector<Curve> curves;  // of areas the lowest first
  Curve line;                 // over the areas; none when it has no values
};

std::string draw_areas(const TimeChart& chart, double width, double height);
std::string draw_lines(const TimeChart& chart, double width, double height);
// The names with their colours, and what each is at the end.
std::string legend_of(const TimeChart& chart);

struct Bar {
  struct Part {
    std::string role;
    double value;
    std::string title;
  };
  std::string name;
  std::vector<Part> parts;       // side by side, from 0
  std::string text;              // behind it
  std::vector<double> marks;     // values of their own, as dots
  std::optional<double> before;  // an upright line
  bool is_own = false;           // written bold
};

std::string draw_bars(const std::string& label, Unit unit, const std::vector<Bar>& bars,
                      double width);

}  // namespace pktmalloc
