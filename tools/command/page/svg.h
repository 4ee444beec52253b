// SPDX-License-Identifier: MIT
// Svg: a picture for a page, written element by element, in CSS pixels.
//
// Elements have classes instead of colours: page.cpp says what they look like, by day and by night.
// A title is what a mouse that rests on the element shows.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

struct Point {
  double x, y;
};

// For text and attributes of HTML.
std::string escape(const std::string& text);

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  void rectangle(Point corner, double width, double height, const std::string& css,
                 const std::string& title = "");
  void circle(Point centre, double radius, const std::string& css, const std::string& title = "");
  void line(Point from, Point to, const std::string& css);
  void curve(const std::vector<Point>& points, const std::string& css);
  // Closed.
  void area(const std::vector<Point>& points, const std::string& css);
  void text(Point at, const std::string& css, const std::string& words);

  // `label` is for those who do not see it.
  std::string finish(const std::string& label) const;

 private:
  void element(const std::string& start, const std::string& css, const std::string& title);

  double width_, height_;
  std::string body_;
};

}  // namespace pktmalloc
