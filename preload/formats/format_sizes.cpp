// SPDX-License-Identifier: MIT
#include "preload/formats/sizes.h"

namespace pktmalloc {

void write_sizes_head(Writer& out, const SizesOrigin& origin) {
  out.print("{\n  \"schema\": 1,\n  \"content\": \"sizes\",\n  \"version\": \"%s\",\n",
            origin.version);
  out.print("  \"program\": ");
  write_string(out, origin.program);
  out.print(",\n  \"pid\": %d,\n  \"started\": %llu.%06llu,\n  \"time\": %llu,\n", origin.pid,
            number(origin.started_us / 1'000'000), number(origin.started_us % 1'000'000),
            number(origin.time_ms / 1000));
  out.print("  \"threads\": %llu,\n  \"peak_bytes\": %llu,\n  \"memory_bytes\": %llu,\n",
            number(origin.totals.threads), number(origin.peak_bytes),
            number(origin.totals.memory_bytes));
  out.print("  \"missing\": %llu,\n  \"usable_sizes\": %llu,\n  \"classes\": [",
            number(origin.totals.missing), number(origin.totals.usable_sizes));
  for (const uint64_t& bytes : origin.classes) {
    out.print("%s%llu", &bytes == origin.classes.data() ? "" : ", ", number(bytes));
  }
  out.print("],\n  \"sizes\": [");
}

void write_size(Writer& out, const SizeCounts& row, bool is_first) {
  out.print("%s    {\"bytes\": %llu, \"alignment\": %llu, \"calls\": %llu, ",
            is_first ? "\n" : ",\n", number(row.bytes), number(row.alignment), number(row.calls));
  out.print("\"live_at_peak\": %llu, \"threads\": %u}", number(row.live_at_peak), row.threads);
}

}  // namespace pktmalloc
