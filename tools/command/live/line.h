// SPDX-License-Identifier: MIT
// Line: of the screen, in pieces that look differently; and what is drawn in lines of text.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// Of bytes: kLive in the program's hands, kCached waiting for it, kFree for anybody.
enum class Style { kPlain, kBold, kDim, kReversed, kKey, kLive, kCached, kFree };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;

std::string text_of(const Line& line);

// What the lines are for.
struct Screen {
  size_t columns = 80;
  bool blocks = false;  // it has the block characters of Unicode
};

// As much of the text as fits, up to a comma, semicolon or plus.
std::string fitting(const std::string& text, size_t columns);

// Live, cached and free bytes beside each other; `whole` fills the width.
Line memory_bar(double live, double cached, double free, double whole, size_t width, bool blocks);

// The last `width` values, a character each, the highest of them at full height.
std::string sparkline(const std::vector<double>& values, size_t width, bool blocks);

}  // namespace pktmalloc
