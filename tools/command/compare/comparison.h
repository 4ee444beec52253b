// SPDX-License-Identifier: MIT
// Comparison: the runs of one command under several allocators, or of several commands under one,
// and what they tell.
//
// Of every figure less is better. "Told apart" is differ() of samples.h.
#pragma once

#include <array>
#include <set>
#include <string>
#include <vector>

#include "tools/command/compare/execution.h"
#include "tools/command/compare/samples.h"
#include "tools/command/system/allocator.h"

namespace pktmalloc {

enum Figure { kTime, kCpu, kPeak, kFaults, kFigures };

inline constexpr const char* kFigureNames[kFigures] = {"time", "CPU", "peak RSS", "page faults"};
inline constexpr const char* kFigureKeys[kFigures] = {"time_ms", "cpu_ms", "peak_rss_bytes",
                                                      "page_faults"};
inline constexpr const char* kFigureMeanings[kFigures] = {
    "from start to end", "user and system, of all processes",
    "the most that one process had in memory", "minor and major, of all processes"};

std::string figure_text(Figure figure, double value);

inline constexpr const char* kAsBest = "~ best";

struct Contender {
  Allocator allocator;                    // of one of several commands, with the name "a" or "b"
  std::string classes;                    // PKTMALLOC_CLASSES; "": as it is
  std::array<Samples, kFigures> figures;  // empty when it failed, or never ran to its end
  std::string failure;                    // "exit status 3"; "" of one that did not fail
  std::set<uint64_t> outputs;             // the different ones
  std::vector<std::string> words = {};    // of one of several commands

  bool has_figures() const { return !figures[kTime].empty(); }
};

struct Comparison {
  std::vector<std::string> words;  // of the command; of several, "--" between them
  std::string under;               // of several commands: the allocator
  int rounds = 0;                  // that were asked for
  bool is_service = false;         // the time is of the load, the rest of the server
  bool interrupted = false;
  std::string behind;  // what LD_PRELOAD named before, and names in every run
  // The first is what the others are compared with: the command as it is, mostly under glibc.
  std::vector<Contender> contenders;

  const Contender& glibc() const { return contenders.front(); }
  bool is_of_commands() const { return !under.empty(); }
  const std::vector<std::string>& words_of(const Contender& contender) const {
    return contender.words.empty() ? words : contender.words;
  }
  // "5 runs under each allocator"; and what each of several commands is.
  std::string runs_text() const;
  std::vector<std::string> commands() const;
  bool any_failed() const;
  // Those that have figures, the best first.
  std::vector<const Contender*> ranking(Figure figure) const;
  // "best", or kAsBest of one that is not told from it; "" of others, and of too few runs.
  std::string place(const Contender& contender, Figure figure) const;
  // The same, or "~ glibc" of one that is not told from glibc.
  std::string remark(const Contender& contender, Figure figure) const;
  // Of glibc, or of what serves the command in its place ("linked jemalloc"): its first word.
  std::string first_name() const;
  // To glibc's; 0 when glibc has none, or nothing.
  double ratio(const Contender& contender, Figure figure) const;
  bool differs_from_glibc(const Contender& contender, Figure figure) const;

  // Are there as many runs as a difference needs?
  bool can_tell() const;
  // Who has the least of the figure.
  std::string finding(Figure figure) const;
  // What was found, a sentence each: who is best, what failed, outputs that are not the same.
  std::vector<std::string> findings() const;
};

std::string table_of(const Comparison& comparison);
// Of one figure, in 80 columns; and what "~" in it means, where it is there.
std::string table_of(const Comparison& comparison, Figure figure);
std::string legend_of(const std::string& tables);
std::string markdown_of(const Comparison& comparison);
// A row an allocator and figure, in milliseconds, bytes and numbers.
std::string csv_of(const Comparison& comparison);
std::string json_of(const Comparison& comparison);
std::string page_of(const Comparison& comparison);

}  // namespace pktmalloc
