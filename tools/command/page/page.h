// SPDX-License-Identifier: MIT
// Page: one HTML file that needs nothing else, no network and, frames apart, no script; light and
// dark as the reader's system is, readable from a telephone's width up.
//
// The colours and the type are those of the benchmarks' page (tools/bench/theme.py, page.css).
// Roles of a chart's parts: blue, sky, amber, brown, grey, slate for what is counted; the name of
// an allocator, or "other", for what it did.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// Widths of pictures, in CSS pixels: that fill the page, that stand in pairs, that fill a
// telephone.
inline constexpr double kWideFigure = 928;
inline constexpr double kHalfFigure = 444;
inline constexpr double kNarrowFigure = 388;

class Page {
 public:
  // `title` is for the browser's window, too.
  Page(const std::string& title, const std::string& subtitle);

  void section(const std::string& title, const std::string& text = "");
  void paragraph(const std::string& text, const std::string& css = "");
  void list(const std::vector<std::string>& lines);
  // As it is, in letters of one width.
  void preformatted(const std::string& text);
  // Numbers with what they are, in a row.
  struct Tile {
    std::string value, name;
  };
  void tiles(const std::vector<Tile>& tiles);
  // Figures that follow each other stand side by side where there is room.
  void begin_figures() { body_ += "<div class=\"figures\">\n"; }
  void end_figures() { body_ += "</div>\n"; }
  // `picture` is an Svg's text, or two for wide and narrow windows; `legend` is HTML.
  void figure(const std::string& title, const std::string& unit, const std::string& picture,
              const std::string& narrow_picture = "", const std::string& legend = "");
  // The first cell of a row is its name. A row whose name is in `own` is emphasised.
  void table(const std::vector<std::string>& head,
             const std::vector<std::vector<std::string>>& rows, const std::string& own = "");

  // Another page within this one, with a script of its own.
  void frame(const std::string& title, const std::string& page);

  std::string finish() const;

 private:
  std::string title_, body_;
};

}  // namespace pktmalloc
