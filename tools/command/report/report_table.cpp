// SPDX-License-Identifier: MIT
#include "tools/command/report/report_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "preload/formats/bytes.h"
#include "tools/command/report/places.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

std::string who(const Reading& r) {
  return fmt::format("{} {}, {}, pktmalloc {}", r.program, r.pid, moment_text(r.time), r.version);
}

std::string passed_text(const Snapshot& s) {
  std::string text = fmt::format("{} request{} to the next allocator", count_text(s.process.passed),
                                 s.process.passed == 1 ? "" : "s");
  const char* separator = ": ";
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    uint64_t sum = 0;
    for (const uint64_t n : s.passed[reason]) sum += n;
    if (sum == 0) continue;
    text += fmt::format("{}{} {}", separator, kPassReasonNames[reason], count_text(sum));
    separator = ", ";
  }
  return text;
}

std::string places_table(const Snapshot& s) {
  const ProcessStatistics& p = s.process;
  const Places places = places_of(p);
  const uint64_t all = sum_of(places);
  std::string text = fmt::format("{:<12}{:>12}{:>10}\n", "place", "bytes", "share");
  for (unsigned i = 0; i < kPlaces; ++i) {
    text += fmt::format("{:<12}{:>12}{:>10}   {}\n", kPlaceNames[i], bytes_text(places[i]),
                        share_text(places[i], all), kPlaceMeanings[i]);
  }
  const auto line = [&](const char* name, uint64_t n, const char* meaning) {
    text += fmt::format("{:<12}{:>12}{:>10}   {}\n", name, bytes_text(n), "", meaning);
  };
  line("all", all, "committed and metadata");
  text += '\n';
  line("resident", p.resident_bytes, "of the committed pages, in memory");
  line("waiting", p.waiting_bytes, "goes back unless needed, at the most");
  line("purged", p.purged_bytes, "given back so far");
  if (p.populated_bytes > 0) {
    line("populated", p.populated_bytes, "put in memory in advance, never given back");
  }
  const auto limit = [&](const char* name, uint64_t most) {
    if (most > 0) line(name, most, Distance(p.limited_bytes, most).text);
  };
  limit("limit", p.limit_bytes);
  limit("soft limit", p.soft_limit_bytes);
  text += fmt::format("{:<12}{} allocs, {} frees\n", "calls", count_text(p.allocs),
                      count_text(p.frees));
  text += fmt::format("{:<12}{}\n", "passed on", passed_text(s));
  text += fmt::format("{:<12}{} seen, {} alive; {} forks\n", "threads", count_text(p.threads_seen),
                      count_text(p.threads_alive), count_text(p.forks));
  return text;
}

std::string classes_table(const Snapshot& s) {
  const auto classes = used_classes(s, [](const ClassStatistics& a, const ClassStatistics& b) {
    return a.committed_bytes > b.committed_bytes;
  });
  if (classes.empty()) return "No class was used.\n";
  std::string text =
      fmt::format("{:>7}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>7}\n", "class", "live", "threads",
                  "depot", "slabs", "empty", "committed", "live %");
  for (const ClassStatistics& c : classes) {
    text += fmt::format("{:>7}", c.object_bytes);
    const Places places = places_of(c);
    for (unsigned i = 0; i < kMetadata; ++i) text += fmt::format("{:>11}", bytes_text(places[i]));
    const double live = static_cast<double>(places[kLive]);
    text += fmt::format(
        "{:>11}{:>7.1f}\n", bytes_text(c.committed_bytes),
        c.committed_bytes == 0 ? 0 : 100 * live / static_cast<double>(c.committed_bytes));
  }
  return text;
}

// The greater growth of live and committed bytes.
int64_t growth(const std::pair<ClassStatistics, ClassStatistics>& of) {
  const auto& [before, after] = of;
  const auto difference = [](uint64_t a, uint64_t b) { return static_cast<int64_t>(b - a); };
  return std::max(difference(before.live * before.object_bytes, after.live * after.object_bytes),
                  difference(before.committed_bytes, after.committed_bytes));
}

std::string class_changes(const Snapshot& before, const Snapshot& after) {
  auto pairs = pairs_of_classes(before, after);
  const size_t all = pairs.size();
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [](const auto& pair) {
                               return pair.first.live == pair.second.live &&
                                      pair.first.committed_bytes == pair.second.committed_bytes;
                             }),
              pairs.end());
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return growth(a) > growth(b); });
  std::string text;
  if (!pairs.empty()) {
    text = fmt::format("{:>7}{:>11}{:>11}{:>13}{:>12}{:>11}{:>13}\n", "class", "live", "then",
                       "change", "committed", "then", "change");
  }
  for (const auto& [one, other] : pairs) {
    const uint64_t live = one.live * one.object_bytes;
    const uint64_t then = other.live * other.object_bytes;
    text += fmt::format("{:>7}{:>11}{:>11}{:>13}{:>12}{:>11}{:>13}\n", one.object_bytes,
                        bytes_text(live), bytes_text(then), bytes_change(live, then),
                        bytes_text(one.committed_bytes), bytes_text(other.committed_bytes),
                        bytes_change(one.committed_bytes, other.committed_bytes));
  }
  if (pairs.size() < all) {
    text += fmt::format("{} of {} classes are as before.\n", all - pairs.size(), all);
  }
  return text;
}

// The places but for `all`, and what is resident: 70 columns.
std::string places_head() {
  return fmt::format("{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "live", "threads", "depot",
                     "slabs", "empty", "metadata", "resident");
}

std::string places_row(const ProcessStatistics& p) {
  std::string text;
  for (const uint64_t place : places_of(p)) text += fmt::format("{:>10}", bytes_text(place));
  return text + fmt::format("{:>10}\n", bytes_text(p.resident_bytes));
}

}  // namespace

std::string table_of(const Reading& reading) {
  return who(reading) + "\n\n" + places_table(reading.snapshot) + '\n' +
         classes_table(reading.snapshot);
}

std::string table_of_change(const Reading& before, const Reading& after) {
  const ProcessStatistics& p = before.snapshot.process;
  const ProcessStatistics& q = after.snapshot.process;
  std::string text = fmt::format("before  {}\nafter   {}\n\n{:<12}{:>16}{:>16}{:>17}\n",
                                 who(before), who(after), "place", "before", "after", "change");
  const auto line = [&](const char* name, uint64_t a, uint64_t b) {
    text += fmt::format("{:<12}{:>16}{:>16}{:>17}\n", name, bytes_text(a), bytes_text(b),
                        bytes_change(a, b));
  };
  const Places places = places_of(p);
  const Places then = places_of(q);
  for (unsigned i = 0; i < kPlaces; ++i) line(kPlaceNames[i], places[i], then[i]);
  line("all", sum_of(places), sum_of(then));
  text += '\n';
  line("resident", p.resident_bytes, q.resident_bytes);
  line("waiting", p.waiting_bytes, q.waiting_bytes);
  line("purged", p.purged_bytes, q.purged_bytes);
  const auto count = [&](const char* name, uint64_t a, uint64_t b) {
    text += fmt::format("{:<12}{:>16}{:>16}{:>17}\n", name, count_text(a), count_text(b),
                        count_change(a, b));
  };
  count("allocs", p.allocs, q.allocs);
  count("frees", p.frees, q.frees);
  count("passed on", p.passed, q.passed);
  count("threads", p.threads_alive, q.threads_alive);
  return text + '\n' + class_changes(before.snapshot, after.snapshot);
}

std::string table_of_series(const Series& series) {
  const double start = series.first().time;
  std::string text = fmt::format("{}, {} files from {}, pktmalloc {}\n\n{:>8}{}", series.name(),
                                 series.readings.size(), moment_text(start), series.last().version,
                                 "after", places_head());
  for (const Reading& r : series.readings) {
    text += fmt::format("{:>8}{}", elapsed_text(r.time - start), places_row(r.snapshot.process));
  }
  return text + "\nFrom the first to the last:\n" +
         class_changes(series.first().snapshot, series.last().snapshot);
}

std::string table_of_processes(const std::vector<Series>& all) {
  const Reading sum = sum_of(all);
  size_t files = 0;
  for (const Series& series : all) files += series.readings.size();
  std::string text =
      fmt::format("{} processes, {} files; each process as it was last\n", all.size(), files);
  std::vector<Series> sorted = all;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Series& a, const Series& b) {
    const auto key = [](const Series& s) {
      return std::pair(s.program, ~sum_of(places_of(s.last().snapshot.process)));
    };
    return key(a) < key(b);  // of one program the largest first
  });
  std::string program;
  for (const Series& series : sorted) {
    if (series.program != program || &series == &sorted.front()) {
      program = series.program;
      text += fmt::format("\n{}\n{:>8}{}", program, "process", places_head());
    }
    text += fmt::format("{:>8}{}", series.pid, places_row(series.last().snapshot.process));
  }
  text += fmt::format("\n{:>8}{}\nAll of them:\n", "all", places_row(sum.snapshot.process));
  return text + places_table(sum.snapshot) + '\n' + classes_table(sum.snapshot);
}

}  // namespace pktmalloc
