// SPDX-License-Identifier: MIT
// Statistics in Prometheus' text exposition format 0.0.4, fit for node_exporter's textfile
// collector. Counters end in _total, as its naming rules require; a class is the label
// size="BYTES".
#include <cstring>

#include "preload/formats/format.h"

namespace pktmalloc {
namespace {

struct Metric {
  const char* scope;
  const char* key;
  bool counter;
  const char* help;
};

// "pktmalloc_class_allocs_total"
void print_name(Writer& out, const Metric& m) {
  out.print("pktmalloc_%s%s%s", m.scope, m.key, m.counter ? "_total" : "");
}

void print_head(Writer& out, const Metric& m) {
  out.print("# HELP ");
  print_name(out, m);
  out.print(" %s\n# TYPE ", m.help);
  print_name(out, m);
  out.print(" %s\n", m.counter ? "counter" : "gauge");
}

}  // namespace

void write_prometheus(Writer& out, const Snapshot& s) {
#define PROCESS_STATISTIC(key, kind, help)                         \
  {                                                                \
    const Metric m{"", #key, strcmp(#kind, "counter") == 0, help}; \
    print_head(out, m);                                            \
    print_name(out, m);                                            \
    out.print(" %llu\n", number(s.process.key));                   \
  }
#define CLASS_STATISTIC(key, kind, help)                                     \
  {                                                                          \
    const Metric m{"class_", #key, strcmp(#kind, "counter") == 0, help};     \
    print_head(out, m);                                                      \
    for (unsigned i = 0; i < s.heap.classes; ++i) {                          \
      print_name(out, m);                                                    \
      out.print("{size=\"%llu\"} %llu\n", number(s.heap.of[i].object_bytes), \
                number(s.heap.of[i].key));                                   \
    }                                                                        \
  }
#include "preload/formats/statistics.def"
  const Metric m{"", "passed_requests", true,
                 "requests given to the next allocator, by reason and size"};
  print_head(out, m);
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      print_name(out, m);
      out.print("{reason=\"%s\",band=\"%s\"} %llu\n", kPassReasonNames[reason],
                kSizeBandNames[band], number(s.passed[reason][band]));
    }
  }
}

}  // namespace pktmalloc
