// SPDX-License-Identifier: MIT
#include "preload/formats/format.h"
#include "preload/formats/sizes.h"

namespace pktmalloc {

SizesWriter::SizesWriter(Writer& out, const SizesOrigin& origin) : out_(out) {
  out.print("{\n  \"schema\": 1,\n  \"content\": \"sizes\",\n  \"version\": \"%s\",\n",
            origin.version);
  out.print("  \"program\": ");
  write_string(out, origin.program);
  out.print(",\n  \"pid\": %d,\n  \"started\": %llu.%06llu,\n  \"time\": %lld,\n", origin.pid,
            number(origin.started_us / 1'000'000), number(origin.started_us % 1'000'000),
            static_cast<long long>(origin.time));
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

void SizesWriter::add(const SizeCounts& row) {
  out_.print("%s    {\"bytes\": %llu, \"alignment\": %llu, \"calls\": %llu, ", separator_,
             number(row.bytes), number(row.alignment), number(row.calls));
  out_.print("\"live_at_peak\": %llu, \"threads\": %u}", number(row.live_at_peak), row.threads);
  separator_ = ",\n";
}

void SizesWriter::end() { out_.print("\n  ]\n}\n"); }

}  // namespace pktmalloc
