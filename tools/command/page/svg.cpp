// SPDX-License-Identifier: MIT
#include "tools/command/page/svg.h"

#include <fmt/core.h>

#include <cmath>

namespace pktmalloc {
namespace {

// A tenth of a pixel is more than one sees, and makes a short file.
std::string number(double n) { return fmt::format("{}", std::round(n * 10) / 10); }

std::string path_of(const std::vector<Point>& points) {
  std::string path;
  for (const Point& p : points)
    path += (path.empty() ? "M" : "L") + number(p.x) + " " + number(p.y);
  return path;
}

}  // namespace

std::string escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

void Svg::element(const std::string& start, const std::string& css, const std::string& title) {
  body_ += fmt::format("<{} class=\"{}\"", start, css);
  body_ += title.empty() ? "/>\n"
                         : fmt::format("><title>{}</title></{}>\n", escape(title),
                                       start.substr(0, start.find(' ')));
}

void Svg::rectangle(Point corner, double width, double height, const std::string& css,
                    const std::string& title) {
  element(fmt::format("rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(corner.x),
                      number(corner.y), number(width), number(height)),
          css, title);
}

void Svg::circle(Point centre, double radius, const std::string& css, const std::string& title) {
  element(fmt::format("circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(centre.x), number(centre.y),
                      number(radius)),
          css, title);
}

void Svg::line(Point from, Point to, const std::string& css) { curve({from, to}, css); }

void Svg::curve(const std::vector<Point>& points, const std::string& css) {
  element(fmt::format("path d=\"{}\"", path_of(points)), css, "");
}

void Svg::area(const std::vector<Point>& points, const std::string& css) {
  element(fmt::format("path d=\"{}Z\"", path_of(points)), css, "");
}

void Svg::text(Point at, const std::string& css, const std::string& words) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", number(at.x),
                       number(at.y), css, escape(words));
}

std::string Svg::finish(const std::string& label) const {
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" aria-label=\"{2}\">\n"
      "{3}</svg>\n",
      number(width_), number(height_), escape(label), body_);
}

}  // namespace pktmalloc
