// SPDX-License-Identifier: MIT
#include "tools/command/exporter/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "preload/contract/pktmalloc.h"
#include "preload/formats/statistics.h"
#include "tools/command/exporter/unit.h"
#include "tools/command/failure.h"
#include "tools/command/live/live.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

struct Member {
  std::string labels;  // pid="1",program="app",unit="app.service"
  std::string version;
  LibraryKind library;
  uint64_t rss_bytes;
  Snapshot snapshot;
  std::vector<const ClassStatistics*> classes;  // that are told
};

struct Fleet {
  std::vector<Member> members;  // that are told
  size_t found = 0, unread = 0;
};

// In quotes, with a backslash before quotes and backslashes, in valid UTF-8.
std::string quoted(const std::string& text) {
  using Json = nlohmann::json;
  return Json(printable(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// That were ever used, the largest in memory first.
std::vector<const ClassStatistics*> told_classes(const Snapshot& snapshot, unsigned most) {
  std::vector<const ClassStatistics*> used;
  for (unsigned i = 0; i < snapshot.heap.classes; ++i) {
    if (snapshot.heap.of[i].allocs > 0) used.push_back(&snapshot.heap.of[i]);
  }
  std::stable_sort(used.begin(), used.end(), [](const auto* a, const auto* b) {
    return a->committed_bytes > b->committed_bytes;
  });
  if (used.size() > most) used.resize(most);
  return used;
}

Fleet read_fleet(const FleetLimits& limits) {
  Fleet fleet;
  std::vector<std::string> refusals;
  for (const auto& process : live_processes(refusals)) {
    try {
      const Reading reading = process->read();
      fleet.members.push_back(
          {fmt::format("pid=\"{}\",program={},unit={}", process->pid(), quoted(reading.program),
                       quoted(unit_of(Process(process->pid())))),
           reading.version,
           process->library(),
           process->rss_bytes(),
           reading.snapshot,
           {}});
    } catch (const Failure& failure) {
      if (!process->ended()) refusals.push_back(failure.what());
    }
  }
  fleet.found = fleet.members.size();
  fleet.unread = refusals.size();
  std::stable_sort(fleet.members.begin(), fleet.members.end(),
                   [](const Member& a, const Member& b) {
                     return a.snapshot.process.committed_bytes > b.snapshot.process.committed_bytes;
                   });
  if (fleet.members.size() > limits.processes) fleet.members.resize(limits.processes);
  for (Member& m : fleet.members) m.classes = told_classes(m.snapshot, limits.classes);
  return fleet;
}

class Text {
 public:
  // The lines before the samples of one metric, which is a counter if its name says so.
  void begin(const std::string& name, const char* help) {
    name_ = name;
    const bool counter = std::string_view(name).ends_with("_total");
    text_ +=
        fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, counter ? "counter" : "gauge");
  }
  template <typename Number>
  void add(const std::string& labels, Number value) {
    text_ += labels.empty() ? fmt::format("{} {}\n", name_, value)
                            : fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_, name_;
};

std::string metric_name(const char* scope, const char* key, const char* kind) {
  return fmt::format("pktmalloc_{}{}{}", scope, key, strcmp(kind, "counter") == 0 ? "_total" : "");
}

template <typename Value>
void tell_process(Text& text, const Fleet& fleet, const std::string& name, const char* help,
                  Value value) {
  text.begin(name, help);
  for (const Member& m : fleet.members) text.add(m.labels, value(m));
}

template <typename Value>
void tell_classes(Text& text, const Fleet& fleet, const std::string& name, const char* help,
                  Value value) {
  text.begin(name, help);
  for (const Member& m : fleet.members) {
    for (const ClassStatistics* c : m.classes) {
      text.add(fmt::format("size=\"{}\",{}", c->object_bytes, m.labels), value(*c));
    }
  }
}

uint64_t slack_bytes(const ClassStatistics& c) {
  const uint64_t used = (c.live + c.cached_threads + c.cached_depot) * c.object_bytes;
  return c.active_bytes - std::min(c.active_bytes, used);
}

uint64_t trips(const HeapStatistics& heap) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < heap.classes; ++i) {
    const ClassStatistics& c = heap.of[i];
    sum += c.depot_takes + c.depot_gives + c.fills + c.drains;
  }
  return sum;
}

void tell_members(Text& text, const Fleet& fleet) {
  text.begin("pktmalloc_info", "1, for each process: version and kind of its library");
  for (const Member& m : fleet.members) {
    text.add(fmt::format("{},version={},library=\"{}\"", m.labels, quoted(m.version),
                         names_of(m.library).file),
             1);
  }
  tell_process(text, fleet, "pktmalloc_rss_bytes", "bytes of the whole process in memory",
               [](const Member& m) { return m.rss_bytes; });
  // What is resident of the slabs takes a walk over all pages: too much for each scrape.
#define PROCESS_STATISTIC(key, kind, help)                                \
  if (strcmp(#key, "resident_bytes") != 0) {                              \
    tell_process(text, fleet, metric_name("", #key, #kind), help,         \
                 [](const Member& m) { return m.snapshot.process.key; }); \
  }
#define CLASS_STATISTIC(key, kind, help)                              \
  tell_classes(text, fleet, metric_name("class_", #key, #kind), help, \
               [](const ClassStatistics& c) { return c.key; });
#include "preload/formats/statistics.def"
  tell_classes(text, fleet, "pktmalloc_class_slack_bytes",
               "bytes that are free in slabs which hold a live or cached object", slack_bytes);
  tell_process(text, fleet, "pktmalloc_trips_total",
               "exchanges of magazines with depots and of objects with slabs, of all classes",
               [](const Member& m) { return trips(m.snapshot.heap); });
  text.begin("pktmalloc_passed_requests_total",
             "requests given to the next allocator, by reason and size");
  for (const Member& m : fleet.members) {
    for (unsigned reason = 0; reason < kPassReasons; ++reason) {
      for (unsigned band = 0; band < kSizeBands; ++band) {
        const uint64_t count = m.snapshot.passed[reason][band];
        if (count == 0) continue;
        text.add(fmt::format("reason=\"{}\",band=\"{}\",{}", kPassReasonNames[reason],
                             kSizeBandNames[band], m.labels),
                 count);
      }
    }
  }
}

}  // namespace

std::string fleet_metrics(const FleetLimits& limits) {
  const auto start = std::chrono::steady_clock::now();
  const Fleet fleet = read_fleet(limits);
  Text text;
  tell_members(text, fleet);
  text.begin("pktmalloc_exporter_processes", "processes that have the library and were read");
  text.add("", fleet.found);
  text.begin("pktmalloc_exporter_left_out_processes", "of these, left out for being small");
  text.add("", fleet.found - fleet.members.size());
  text.begin("pktmalloc_exporter_unread_processes",
             "processes that have the library and could not be read");
  text.add("", fleet.unread);
  text.begin("pktmalloc_exporter_version_info", "1: version of the exporter");
  text.add("version=\"" PKTMALLOC_VERSION "\"", 1);
  text.begin("pktmalloc_exporter_scrape_seconds", "what it took to read them all");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  text.add("", taken.count());
  return text.take();
}

}  // namespace pktmalloc
