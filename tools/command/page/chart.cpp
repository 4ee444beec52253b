// SPDX-License-Identifier: MIT
#include "tools/command/page/chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/command/page/svg.h"

namespace pktmalloc {
namespace {

constexpr double kDigit = 7.7;   // pixels of one, in DejaVu Sans, the widest of the page's faces
constexpr double kLetter = 6.9;  // of other text
constexpr double kRow = 23;      // from one bar to the next
constexpr double kThick = 15;    // of a bar

double width_of(const std::string& text) {
  double width = 0;
  for (const char c : text) {
    const bool continues = (c & 0xc0) == 0x80;  // a character of more than one byte
    width += continues ? 0 : c >= '0' && c <= '9' ? kDigit : c == ' ' || c == '.' ? 4 : kLetter;
  }
  return width;
}

// Where the curves are, and how a time and a value become a place in the picture.
struct Frame {
  double left, top, right, bottom;
  Axis across, up;
  double start;

  Frame(const TimeChart& chart, double largest, double width, double height)
      : left(0),
        top(8),
        right(width - 14),
        bottom(height - 24),
        across(Unit::kSeconds, chart.times.back() - chart.times.front(), width > 600 ? 10 : 5,
               true),
        up(chart.unit, largest, height > 200 ? 5 : 3),
        start(chart.times.front()) {
    for (const Axis::Tick& tick : up.ticks()) left = std::max(left, width_of(tick.text) + 8);
  }
  double x(double time) const { return left + (right - left) * across.place(time - start); }
  double y(double value) const { return bottom - (bottom - top) * up.place(value); }

  void draw(Svg& svg) const {
    for (const Axis::Tick& tick : up.ticks()) {
      const double at = bottom - (bottom - top) * tick.place;
      svg.line({left, at}, {right, at}, "grid");
      svg.text({left - 8, at + 4}, "end", tick.text);
    }
    for (const Axis::Tick& tick : across.ticks()) {
      svg.text({left + (right - left) * tick.place, bottom + 18}, "middle", tick.text);
    }
  }
};

// Invisible columns that show, when pointed at, what was at that time.
void probe(Svg& svg, const Frame& frame, const TimeChart& chart) {
  const size_t count = chart.times.size();
  for (size_t i = 0; i < count; ++i) {
    const auto middle = [&](size_t a, size_t b) {
      return (frame.x(chart.times[a]) + frame.x(chart.times[b])) / 2;
    };
    const double from = i == 0 ? frame.left : middle(i - 1, i);
    const double to = i + 1 == count ? frame.right : middle(i, i + 1);
    std::string title = "after " + quantity_text(Unit::kSeconds, chart.times[i] - frame.start);
    const auto add = [&](const Curve& curve) {
      title += fmt::format("\n{} {}", curve.name, quantity_text(chart.unit, curve.values[i]));
    };
    std::for_each(chart.curves.rbegin(), chart.curves.rend(), add);
    if (!chart.line.values.empty()) add(chart.line);
    svg.rectangle({from, frame.top}, to - from, frame.bottom - frame.top, "probe", title);
  }
}

void draw_curve(Svg& svg, const Frame& frame, const std::vector<double>& times, const Curve& curve,
                const std::string& css) {
  std::vector<Point> points;
  for (size_t i = 0; i < times.size(); ++i) {
    points.push_back({frame.x(times[i]), frame.y(curve.values[i])});
  }
  svg.curve(points, "halo");
  svg.curve(points, css + " " + curve.role);
}

double largest_of(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

std::string draw_areas(const TimeChart& chart, double width, double height) {
  const size_t count = chart.times.size();
  std::vector<double> all(count);
  for (const Curve& curve : chart.curves) {
    for (size_t i = 0; i < count; ++i) all[i] += curve.values[i];
  }
  const Frame frame(chart, std::max(largest_of(all), largest_of(chart.line.values)), width, height);
  Svg svg(width, height);
  std::vector<double> below(count);
  for (const Curve& curve : chart.curves) {
    std::vector<Point> outline;
    for (size_t i = count; i-- > 0;)
      outline.push_back({frame.x(chart.times[i]), frame.y(below[i])});
    for (size_t i = 0; i < count; ++i) {
      below[i] += curve.values[i];
      outline.push_back({frame.x(chart.times[i]), frame.y(below[i])});
    }
    svg.area(outline, "area " + curve.role);
  }
  frame.draw(svg);
  if (!chart.line.values.empty()) draw_curve(svg, frame, chart.times, chart.line, "curve dashed");
  probe(svg, frame, chart);
  return svg.finish(chart.label);
}

std::string draw_lines(const TimeChart& chart, double width, double height) {
  double largest = 0;
  for (const Curve& curve : chart.curves) largest = std::max(largest, largest_of(curve.values));
  const Frame frame(chart, largest, width, height);
  Svg svg(width, height);
  frame.draw(svg);
  for (const Curve& curve : chart.curves) draw_curve(svg, frame, chart.times, curve, "curve");
  probe(svg, frame, chart);
  return svg.finish(chart.label);
}

std::string legend_of(const TimeChart& chart) {
  std::string legend = "<ul class=\"legend\">";
  const auto add = [&](const Curve& curve, const char* shape) {
    legend +=
        fmt::format("<li><i class=\"{} {}\"></i><span>{}</span> <b>{}</b></li>", shape, curve.role,
                    escape(curve.name), quantity_text(chart.unit, curve.values.back()));
  };
  for (const Curve& curve : chart.curves) add(curve, "fill");
  if (!chart.line.values.empty()) add(chart.line, "dash");
  return legend + "</ul>\n";
}

std::string draw_bars(const std::string& label, Unit unit, const std::vector<Bar>& bars,
                      double width) {
  double left = 0;
  double behind = 0;
  double largest = 0;
  for (const Bar& bar : bars) {
    const double bold = bar.is_own ? 1.1 : 1;
    left = std::max(left, bold * width_of(bar.name) + 8);
    behind = std::max(behind, bold * width_of(bar.text) + 8);
    double sum = 0;
    for (const Bar::Part& part : bar.parts) sum += part.value;
    largest = std::max({largest, sum, largest_of(bar.marks), bar.before.value_or(0)});
  }
  const double right = width - behind;
  const double bottom = kRow * static_cast<double>(bars.size()) + 4;
  const Axis axis(unit, largest, right - left > 220 ? 5 : 3);
  const auto x = [&](double value) { return left + (right - left) * axis.place(value); };
  Svg svg(width, bottom + 22);
  for (const Axis::Tick& tick : axis.ticks()) {
    const double at = left + (right - left) * tick.place;
    svg.line({at, 0}, {at, bottom}, "grid");
    svg.text({at, bottom + 16}, "middle", tick.text);
  }
  double top = 4;
  for (const Bar& bar : bars) {
    const double middle = top + kThick / 2;
    svg.text({left - 8, middle + 4}, bar.is_own ? "name own" : "name", bar.name);
    double from = 0;
    double end = 0;
    for (const Bar::Part& part : bar.parts) {
      svg.rectangle({x(from), top}, x(from + part.value) - x(from), kThick, "area " + part.role,
                    part.title);
      end = from += part.value;
    }
    for (const double mark : bar.marks) {
      svg.circle({x(mark), middle}, 3, "mark", quantity_text(unit, mark));
      end = std::max(end, mark);
    }
    if (bar.before) {
      svg.line({x(*bar.before), top - 3}, {x(*bar.before), top + kThick + 3}, "before");
      end = std::max(end, *bar.before);
    }
    svg.text({x(end) + 8, middle + 4}, bar.is_own ? "value own" : "value", bar.text);
    top += kRow;
  }
  return svg.finish(label);
}

}  // namespace pktmalloc
