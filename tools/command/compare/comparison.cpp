// SPDX-License-Identifier: MIT
#include "tools/command/compare/comparison.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/command/text/quantity.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

// "a", "a and b", "a, b and c"
std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

std::string best_sentence(const Comparison& c, Figure figure) {
  const auto ranking = c.ranking(figure);
  const Contender& best = *ranking.front();
  std::vector<std::string> equals;
  for (const Contender* each : ranking) {
    if (c.place(*each, figure) == kAsBest) equals.push_back(each->allocator.name);
  }
  std::string text = fmt::format("Least {}: ", kFigureNames[figure]);
  if (equals.size() + 1 == ranking.size()) return text + "none is told from the best.";
  text += best.allocator.name;
  const double ratio = c.ratio(best, figure);
  if (ratio > 0 && &best != &c.glibc()) {
    text += fmt::format(", {:.2f} of {}'s", ratio, c.glibc().allocator.name);
  }
  if (equals.empty()) return text + "; beyond noise.";
  return text + "; not told from " + joined(equals) + ".";
}

// Why a row may be not told from the best although one above it is.
std::string spread_sentence(const Comparison& c, Figure figure) {
  std::string faster;
  for (const Contender* each : c.ranking(figure)) {
    const std::string place = c.place(*each, figure);
    if (place.empty()) {
      if (faster.empty()) faster = each->allocator.name;
    } else if (place == kAsBest && !faster.empty()) {
      return fmt::format(
          "{}: {} varies so much from run to run that it is not told from the best, though {}, "
          "with a lower median, is; more rounds (-n) would tell.",
          kFigureNames[figure], each->allocator.name, faster);
    }
  }
  return "";
}

std::string output_sentence(const Comparison& c) {
  const std::set<uint64_t>& expected = c.glibc().outputs;
  std::vector<std::string> others;
  for (const Contender& each : c.contenders) {
    if (each.outputs.size() > 1) {
      return fmt::format(
          "{} does not write the same to stdout in every run, so that cannot be "
          "compared.",
          c.is_of_commands() ? each.allocator.name : "The command");
    }
    if (!each.outputs.empty() && !expected.empty() && each.outputs != expected) {
      others.push_back(each.allocator.name);
    }
  }
  if (others.empty()) return "";
  const std::string& first = c.glibc().allocator.name;
  return c.is_of_commands()
             ? fmt::format("What {} writes to stdout is not what {} writes.", joined(others), first)
             : fmt::format("What it writes to stdout is not {}'s under {}.", first, joined(others));
}

}  // namespace

std::string figure_text(Figure figure, double value) {
  if (figure == kPeak) return bytes_text(value);
  if (figure == kFaults) return short_text(value);
  return duration_text(value);
}

std::string Comparison::runs_text() const {
  return fmt::format("{} runs {}", rounds,
                     is_of_commands() ? "of each command" : "under each allocator");
}

std::vector<std::string> Comparison::commands() const {
  std::vector<std::string> all;
  for (const Contender& each : contenders) {
    if (is_of_commands()) {
      all.push_back(
          fmt::format("{}, under {}: {}", each.allocator.name, under, shell_line(each.words)));
    }
  }
  return all;
}

bool Comparison::any_failed() const {
  return std::any_of(contenders.begin(), contenders.end(),
                     [](const Contender& c) { return !c.failure.empty(); });
}

std::vector<const Contender*> Comparison::ranking(Figure figure) const {
  std::vector<const Contender*> all;
  for (const Contender& c : contenders) {
    if (c.has_figures()) all.push_back(&c);
  }
  std::stable_sort(all.begin(), all.end(), [figure](const Contender* a, const Contender* b) {
    return a->figures[figure].median() < b->figures[figure].median();
  });
  return all;
}

std::string Comparison::place(const Contender& contender, Figure figure) const {
  const Contender& best = *ranking(figure).front();
  if (!can_tell()) return "";
  if (&best == &contender) return "best";
  return differ(best.figures[figure], contender.figures[figure]) ? "" : kAsBest;
}

std::string Comparison::remark(const Contender& contender, Figure figure) const {
  const std::string own = place(contender, figure);
  if (!own.empty() || &contender == &glibc() || !can_tell()) return own;
  return glibc().has_figures() && !differs_from_glibc(contender, figure) ? "~ " + first_name() : "";
}

std::string Comparison::first_name() const {
  const std::string& name = glibc().allocator.name;
  return name.substr(0, name.find(' '));
}

double Comparison::ratio(const Contender& contender, Figure figure) const {
  const Samples& reference = glibc().figures[figure];
  if (reference.empty() || reference.median() <= 0) return 0;
  return contender.figures[figure].median() / reference.median();
}

bool Comparison::differs_from_glibc(const Contender& contender, Figure figure) const {
  const Samples& reference = glibc().figures[figure];
  return !reference.empty() && differ(reference, contender.figures[figure]);
}

bool Comparison::can_tell() const {
  const auto runs = ranking(kTime);
  return runs.size() > 1 && std::all_of(runs.begin(), runs.end(), [](const Contender* each) {
           return each->figures[kTime].values().size() >= kFewestRuns;
         });
}

std::string Comparison::finding(Figure figure) const { return best_sentence(*this, figure); }

std::vector<std::string> Comparison::findings() const {
  std::vector<std::string> all;
  if (can_tell()) {
    for (unsigned i = 0; i < kFigures; ++i) all.push_back(finding(static_cast<Figure>(i)));
    for (unsigned i = 0; i < kFigures; ++i) {
      const std::string spread = spread_sentence(*this, static_cast<Figure>(i));
      if (!spread.empty()) all.push_back(spread);
    }
  } else if (ranking(kTime).size() > 1) {
    all.push_back(fmt::format("Fewer than {} runs each: too few to tell a difference from noise.",
                              kFewestRuns));
  }
  for (const Contender& each : contenders) {
    if (each.failure.empty()) continue;
    all.push_back(
        fmt::format("{} failed: {}; its figures are left out.", each.allocator.name, each.failure));
  }
  if (is_service) {
    all.push_back("Time is that of the load; CPU, peak RSS and page faults are the server's.");
  }
  const std::string outputs = is_service ? "" : output_sentence(*this);
  if (!outputs.empty()) all.push_back(outputs);
  if (!behind.empty()) all.push_back("In every run LD_PRELOAD names also: " + behind + ".");
  return all;
}

}  // namespace pktmalloc
