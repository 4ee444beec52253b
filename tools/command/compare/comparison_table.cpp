// SPDX-License-Identifier: MIT
// A comparison for people, in 80 columns; and as JSON for programs.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/command/compare/comparison.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

using Json = nlohmann::ordered_json;

std::string ratio_text(const Comparison& c, const Contender& contender, Figure figure) {
  const double ratio = c.ratio(contender, figure);
  return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-";
}

std::string remark(const Comparison& c, const Contender& contender, Figure figure) {
  const std::string place = c.place(contender, figure);
  if (!place.empty() || &contender == &c.glibc() || !c.can_tell()) return place;
  return c.glibc().has_figures() && !c.differs_from_glibc(contender, figure)
             ? "as " + c.first_name()
             : "";
}

// The head of the ratios, in eight columns.
std::string over(const std::string& name) {
  return (name.size() < 7 ? "/ " : "/") + name.substr(0, 7);
}

std::string figure_table(const Comparison& c, Figure figure) {
  size_t width = 14;
  for (const Contender& each : c.contenders) width = std::max(width, each.allocator.name.size());
  std::string text = fmt::format("{:<{}}{:>11}{:>13}{:>13}{:>9}\n", kFigureNames[figure], width + 2,
                                 "median", "least", "most", over(c.first_name()));
  for (const Contender* each : c.ranking(figure)) {
    const Samples& s = each->figures[figure];
    text += fmt::format("  {:<{}}{:>11}{:>13}{:>13}{:>9}", each->allocator.name, width,
                        figure_text(figure, s.median()), figure_text(figure, s.least()),
                        figure_text(figure, s.most()), ratio_text(c, *each, figure));
    const std::string end = remark(c, *each, figure);
    text += end.empty() ? "\n" : "   " + end + "\n";
  }
  return text + "\n";
}

Json json_of(const Comparison& c, const Contender& contender) {
  Json json = {{"name", contender.allocator.name}, {"library", contender.allocator.library}};
  json["failure"] = contender.failure.empty() ? Json(nullptr) : Json(contender.failure);
  if (!contender.classes.empty()) json["classes"] = contender.classes;
  if (!contender.has_figures()) return json;
  for (unsigned i = 0; i < kFigures; ++i) {
    const Figure figure = static_cast<Figure>(i);
    const Samples& s = contender.figures[figure];
    json[kFigureKeys[i]] = {{"median", s.median()},
                            {"least", s.least()},
                            {"most", s.most()},
                            {"runs", s.values()},
                            {"differs_from_glibc", c.differs_from_glibc(contender, figure)},
                            {"place", c.place(contender, figure)}};
    const double ratio = c.ratio(contender, figure);
    json[kFigureKeys[i]]["to_glibc"] = ratio > 0 ? Json(ratio) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string table_of(const Comparison& c) {
  std::string text;
  if (!c.ranking(kTime).empty()) {
    for (unsigned i = 0; i < kFigures; ++i) text += figure_table(c, static_cast<Figure>(i));
  }
  for (const std::string& finding : c.findings()) text += finding + "\n";
  return text;
}

std::string json_of(const Comparison& c) {
  Json json = {{"schema", 1},
               {"command", c.words},
               {"rounds", c.rounds},
               {"interrupted", c.interrupted},
               {"allocators", Json::array()},
               {"findings", c.findings()}};
  for (const Contender& each : c.contenders) json["allocators"].push_back(json_of(c, each));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pktmalloc
