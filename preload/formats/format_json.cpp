// SPDX-License-Identifier: MIT
// Statistics for programs: one object with the keys of statistics.def. Changing a key's meaning
// raises kStatisticsSchema.
#include "preload/formats/format.h"

namespace pktmalloc {

// Bytes of the character that begins there in UTF-8; 0: none that has several, or a control.
static unsigned utf8_bytes(const char* text) {
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

}  // namespace pktmalloc
