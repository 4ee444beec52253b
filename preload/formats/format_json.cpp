// SPDX-License-Identifier: MIT
// Statistics for programs: one object with the keys of statistics.def. Changing a key's meaning
// raises kStatisticsSchema.
#include "preload/formats/format.h"

namespace pktmalloc {

void write_string(Writer& out, const char* text) {
  out.print("\"");
  for (; *text != '\0'; ++text) {
    const unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') {
      out.print("\\%c", c);
    } else if (c < 0x20 || c > 0x7e) {
      out.print("\\u%04x", c);  // bytes, not characters: a file name may be in any encoding
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
  for (unsigned i = 0; i < s.heap.classes; ++i) {
    const ClassStatistics& c = s.heap.of[i];
    out.print("%s\n    {\"bytes\": %llu", i > 0 ? "," : "", number(c.object_bytes));
#define CLASS_STATISTIC(key, kind, help) out.print(", \"" #key "\": %llu", number(c.key));
#include "preload/formats/statistics.def"
    out.print("}");
  }
  out.print("\n  ]\n}\n");
}

}  // namespace pktmalloc
