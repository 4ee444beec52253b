// SPDX-License-Identifier: MIT
#include "preload/formats/format.h"

#include <cstdio>
#include <cstring>

#include "preload/formats/bytes.h"

namespace pktmalloc {
namespace {

void write_limit(Writer& out, const char* name, uint64_t limit, uint64_t used) {
  if (limit == 0) return;
  out.print("%-10s %-12s %s\n", name, Bytes(limit).text, Distance(used, limit).text);
}

// Bytes of the character that begins there in UTF-8; 0: none that has several, or a control.
unsigned utf8_bytes(const char* text) {
  constexpr unsigned kLeast[] = {0, 0, 0xA0, 0x800, 0x10000};
  const unsigned char first = static_cast<unsigned char>(*text);
  const unsigned n = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  unsigned c = first & (0x7F >> n);
  for (unsigned i = 1; i < n; ++i) {
    if ((text[i] & 0xC0) != 0x80) return 0;
    c = c << 6 | (text[i] & 0x3F);
  }
  return c < kLeast[n] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : n;
}

// "pktmalloc_class_allocs_total"; begins with what readers are told of it.
struct Metric {
  char name[64];

  Metric(Writer& out, const char* key, bool is_counter, const char* help) {
    snprintf(name, sizeof name, "pktmalloc_%s%s", key, is_counter ? "_total" : "");
    out.print("# HELP %s %s\n# TYPE %s %s\n", name, help, name, is_counter ? "counter" : "gauge");
  }
};

}  // namespace

void write_text(Writer& out, const Origin& origin, const Snapshot& s) {
  const ProcessStatistics& p = s.process;
  out.print("---- pktmalloc %s: %s, process %d ----\n", origin.version, origin.program, origin.pid);
  if (s.heap.reserved_bytes == 0) {
    out.print(
        "nothing is pooled (is ulimit -v or -d below 512 MiB?): the next allocator served "
        "everything\n");
  }
  out.print("allocated  %-12s in live objects: %llu allocs, %llu frees",
            Bytes(p.allocated_bytes).text, number(p.allocs), number(p.frees));
  if (p.block_bytes > 0) out.print("; %s in blocks", Bytes(p.block_bytes).text);
  out.print("\ncached     %-12s in threads, %s in the depot, %s in slabs\n",
            Bytes(p.cached_threads_bytes).text, Bytes(p.cached_depot_bytes).text,
            Bytes(p.cached_slabs_bytes).text);
  out.print("committed  %-12s = active %s + free %s; resident %s\n", Bytes(p.committed_bytes).text,
            Bytes(p.active_bytes).text, Bytes(p.free_bytes).text, Bytes(p.resident_bytes).text);
  if (origin.rss_bytes > 0) {
    out.print("process    %-12s resident in all, what is not ours included\n",
              Bytes(origin.rss_bytes).text);
  }
  out.print("purged     %-12s given back so far; %s waiting to go\n", Bytes(p.purged_bytes).text,
            Bytes(p.waiting_bytes).text);
  if (p.populated_bytes > 0) {
    out.print("populated  %-12s in advance, never given back\n", Bytes(p.populated_bytes).text);
  }
  write_limit(out, "limit", p.limit_bytes, p.limited_bytes);
  write_limit(out, "soft limit", p.soft_limit_bytes, p.limited_bytes);
  out.print("metadata   %s\n", Bytes(p.metadata_bytes).text);
  out.print("reserved   %-12s of addresses\n", Bytes(p.reserved_bytes).text);
  out.print("threads    %llu seen, %llu alive; %llu forks\n", number(p.threads_seen),
            number(p.threads_alive), number(p.forks));
  out.print("passed on  %llu request%s", number(p.passed), p.passed == 1 ? "" : "s");
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    uint64_t sum = 0;
    for (const uint64_t n : s.passed[reason]) sum += n;
    if (sum > 0) out.print(", %s %llu", kPassReasonNames[reason], number(sum));
  }
  out.print("\n%8s %12s %12s %9s %9s %9s %9s %9s %10s\n", "class", "allocs", "frees", "live",
            "threads", "depot", "slabs", "trips", "committed");
  for (unsigned i = 0; i < s.heap.classes; ++i) {
    const ClassStatistics& c = s.heap.of[i];
    if (c.allocs == 0 && c.fills == 0) continue;
    out.print("%8llu %12llu %12llu %9llu %9llu %9llu %9llu %9llu %10s\n", number(c.object_bytes),
              number(c.allocs), number(c.frees), number(c.live), number(c.cached_threads),
              number(c.cached_depot), number(c.cached_slabs),
              number(c.depot_takes + c.depot_gives + c.fills), Bytes(c.committed_bytes).text);
  }
}

void write_string(Writer& out, const char* text) {
  out.print("\"");
  for (; *text != '\0'; ++text) {
    const unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') {
      out.print("\\%c", c);
    } else if (const unsigned bytes = utf8_bytes(text); bytes != 0) {
      out.put(text, bytes);
      text += bytes - 1;
    } else if (c < 0x20 || c > 0x7e) {
      out.print("\\u%04x", c);  // a name may be in any encoding
    } else {
      out.print("%c", c);
    }
  }
  out.print("\"");
}

void write_json(Writer& out, const Origin& origin, const Snapshot& s) {
  out.print("{\n  \"schema\": %d,\n  \"version\": \"%s\",\n  \"program\": ", kStatisticsSchema,
            origin.version);
  write_string(out, origin.program);
  out.print(",\n  \"pid\": %d,\n  \"time\": %llu.%03u,\n  \"process\": {", origin.pid,
            number(origin.time_ms / 1000), static_cast<unsigned>(origin.time_ms % 1000));
  const char* separator = "\n";
#define PROCESS_STATISTIC(key, kind, help)                                 \
  out.print("%s    \"" #key "\": %llu", separator, number(s.process.key)); \
  separator = ",\n";
#include "preload/formats/statistics.def"
  out.print("\n  },\n  \"passed\": {");
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    out.print("%s\n    \"%s\": {", reason > 0 ? "," : "", kPassReasonNames[reason]);
    for (unsigned band = 0; band < kSizeBands; ++band) {
      out.print("%s\"%s\": %llu", band > 0 ? ", " : "", kSizeBandNames[band],
                number(s.passed[reason][band]));
    }
    out.print("}");
  }
  out.print("\n  },\n  \"classes\": [");
  for (unsigned i = 0; i <= s.heap.classes; ++i) {
    const bool last = i == s.heap.classes;
    const ClassStatistics& c = last ? s.heap.blocks : s.heap.of[i];
    out.print("%s{\"bytes\": %llu",
              last    ? "\n  ],\n  \"blocks\": "
              : i > 0 ? ",\n    "
                      : "\n    ",
              number(c.object_bytes));
#define CLASS_STATISTIC(key, kind, help) out.print(", \"" #key "\": %llu", number(c.key));
#include "preload/formats/statistics.def"
    out.print("}");
  }
  out.print("\n}\n");
}

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
