// SPDX-License-Identifier: MIT
#include "tools/command/live/line.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace pktmalloc {
namespace {

constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kPlainHeights[] = {"_", ".", ",", "-", "=", "+", "*", "#"};

std::string repeated(const char* text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

std::string text_of(const Line& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return text;
}

std::string fitting(const std::string& text, size_t columns) {
  if (text.size() <= columns) return text;
  const size_t end = text.find_last_of(",;+", columns);
  if (end == std::string::npos) return text.substr(0, columns);
  return text.substr(0, text.find_last_not_of(" ,;+", end) + 1);
}

Line memory_bar(double live, double cached, double free, double whole, size_t width, bool blocks) {
  const struct {
    double bytes;
    const char *block, *letter;
    Style style;
  } parts[] = {{live, "█", "#", Style::kLive},
               {cached, "▓", "+", Style::kCached},
               {free, "░", "-", Style::kFree}};
  Line line;
  double sum = 0;
  size_t drawn = 0;
  for (const auto& part : parts) {
    sum += part.bytes;
    const double share = whole > 0 ? std::min(sum / whole, 1.0) : 0;
    const auto end = static_cast<size_t>(std::lround(share * static_cast<double>(width)));
    line.push_back({repeated(blocks ? part.block : part.letter, end - drawn), part.style});
    drawn = end;
  }
  line.push_back({std::string(width - drawn, ' ')});
  return line;
}

std::string sparkline(const std::vector<double>& values, size_t width, bool blocks) {
  const size_t count = std::min(values.size(), width);
  const auto first = values.end() - static_cast<ptrdiff_t>(count);
  const double most = count > 0 ? *std::max_element(first, values.end()) : 0;
  constexpr size_t kLevels = std::size(kHeights);
  std::string text;
  for (auto value = first; value != values.end(); ++value) {
    const double share = most > 0 ? std::max(*value, 0.0) / most : 0;
    const auto level = std::min(static_cast<size_t>(share * kLevels), kLevels - 1);
    text += (blocks ? kHeights : kPlainHeights)[level];
  }
  return text + std::string(width - count, ' ');
}

}  // namespace pktmalloc
