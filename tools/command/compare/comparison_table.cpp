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

std::string interval_text(const Samples& s, Figure figure) {
  return s.values().size() < 2 ? "-" : figure_text(figure, s.interval());
}

// The head of the ratios, in eight columns.
std::string over(const std::string& name) {
  return (name.size() < 7 ? "/ " : "/") + name.substr(0, 7);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json json_of(const Comparison& c, const Contender& contender) {
  Json json = {{"name", contender.allocator.name}, {"library", contender.allocator.library}};
  json["failure"] = contender.failure.empty() ? Json(nullptr) : Json(contender.failure);
  if (!contender.classes.empty()) json["classes"] = contender.classes;
  if (c.is_of_commands()) json["command"] = contender.words;
  if (!contender.has_figures()) return json;
  for (unsigned i = 0; i < kFigures; ++i) {
    const Figure figure = static_cast<Figure>(i);
    const Samples& s = contender.figures[figure];
    json[kFigureKeys[i]] = {
        {"median", s.median()},
        {"mean", s.mean()},
        {"interval", s.values().size() < 2 ? Json(nullptr) : Json(s.interval())},
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

std::string table_of(const Comparison& c, Figure figure) {
  size_t width = 12;
  for (const Contender& each : c.contenders) width = std::max(width, each.allocator.name.size());
  std::string text =
      fmt::format("{:<{}}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}\n", kFigureNames[figure], width + 2,
                  "median", "mean", "+- 95 %", "least", "most", over(c.first_name()));
  for (const Contender* each : c.ranking(figure)) {
    const Samples& s = each->figures[figure];
    text += fmt::format("  {:<{}}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}", each->allocator.name, width,
                        figure_text(figure, s.median()), figure_text(figure, s.mean()),
                        interval_text(s, figure), figure_text(figure, s.least()),
                        figure_text(figure, s.most()), ratio_text(c, *each, figure));
    const std::string end = c.remark(*each, figure);
    text += end.empty() ? "\n" : " " + end + "\n";
  }
  return text + "\n";
}

std::string legend_of(const std::string& tables) {
  const bool any = tables.find(" ~ ") != std::string::npos;
  return any ? "~: not told from it, for their runs mix (rank sum test, 1 in 100).\n\n" : "";
}

std::string table_of(const Comparison& c) {
  std::string text;
  for (const std::string& command : c.commands()) text += command + "\n";
  if (!text.empty()) text += "\n";
  if (!c.ranking(kTime).empty()) {
    for (unsigned i = 0; i < kFigures; ++i) text += table_of(c, static_cast<Figure>(i));
  }
  text += legend_of(text);
  for (const std::string& finding : c.findings()) text += finding + "\n";
  return text;
}

std::string markdown_of(const Comparison& c) {
  std::string text = fmt::format("`{}`, {}\n", shell_line(c.words), c.runs_text());
  if (c.is_of_commands()) text += "\n";
  for (const std::string& command : c.commands()) text += "- " + command + "\n";
  for (unsigned i = 0; i < kFigures && !c.ranking(kTime).empty(); ++i) {
    const Figure figure = static_cast<Figure>(i);
    text += fmt::format("\n| {} | median | mean | \u00b1 95 % | least | most | / {} | |\n",
                        kFigureNames[figure], c.first_name());
    text += "| --- | --: | --: | --: | --: | --: | --: | --- |\n";
    for (const Contender* each : c.ranking(figure)) {
      const Samples& s = each->figures[figure];
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", each->allocator.name,
                          figure_text(figure, s.median()), figure_text(figure, s.mean()),
                          interval_text(s, figure), figure_text(figure, s.least()),
                          figure_text(figure, s.most()), ratio_text(c, *each, figure),
                          c.remark(*each, figure));
    }
  }
  text += "\n";
  for (const std::string& finding : c.findings()) text += "- " + finding + "\n";
  return text;
}

std::string csv_of(const Comparison& c) {
  std::string text = c.is_of_commands() ? "command" : "allocator";
  for (const char* key : {"figure", "runs", "median", "mean", "interval", "least", "most"}) {
    text += std::string(",") + key;
  }
  text += "\n";
  for (const Contender& each : c.contenders) {
    for (unsigned i = 0; i < kFigures && each.has_figures(); ++i) {
      const Samples& s = each.figures[i];
      text += fmt::format(
          "{},{},{},{},{},{},{},{}\n",
          csv_cell(c.is_of_commands() ? shell_line(each.words) : each.allocator.name),
          kFigureKeys[i], s.values().size(), s.median(), s.mean(),
          s.values().size() < 2 ? "" : fmt::format("{}", s.interval()), s.least(), s.most());
    }
  }
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
