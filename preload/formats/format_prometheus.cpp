// SPDX-License-Identifier: MIT
// Statistics in Prometheus' text exposition format 0.0.4, fit for node_exporter's textfile
// collector. Counters end in _total, as its naming rules require; a class is the label
// size="BYTES".
#include <cstdio>
#include <cstring>

#include "preload/formats/format.h"

namespace pktmalloc {
namespace {

// "pktmalloc_class_allocs_total"; begins with what readers are told of it.
struct Metric {
  char name[64];

  Metric(Writer& out, const char* key, bool is_counter, const char* help) {
    snprintf(name, sizeof name, "pktmalloc_%s%s", key, is_counter ? "_total" : "");
    out.print("# HELP %s %s\n# TYPE %s %s\n", name, help, name, is_counter ? "counter" : "gauge");
  }
};

}  // namespace

void write_prometheus(Writer& out, const Snapshot& s) {
#define PROCESS_STATISTIC(key, kind, help)                                            \
  out.print("%s %llu\n", Metric(out, #key, strcmp(#kind, "counter") == 0, help).name, \
            number(s.process.key));
#define CLASS_STATISTIC(key, kind, help)                                               \
  {                                                                                    \
    const Metric m(out, "class_" #key, strcmp(#kind, "counter") == 0, help);           \
    for (unsigned i = 0; i < s.heap.classes; ++i) {                                    \
      out.print("%s{size=\"%llu\"} %llu\n", m.name, number(s.heap.of[i].object_bytes), \
                number(s.heap.of[i].key));                                             \
    }                                                                                  \
  }
#include "preload/formats/statistics.def"
  const Metric m(out, "passed_requests", true,
                 "requests given to the next allocator, by reason and size");
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.print("%s{reason=\"%s\",band=\"%s\"} %llu\n", m.name, kPassReasonNames[reason],
                kSizeBandNames[band], number(s.passed[reason][band]));
    }
  }
}

}  // namespace pktmalloc
