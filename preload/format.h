// SPDX-License-Identifier: MIT
// The formats of statistics: text for people, JSON, Prometheus text; a file each, format_NAME.cpp.
// Allocates nothing.
#pragma once

#include "preload/statistics.h"
#include "preload/writer.h"

namespace pktmalloc {

// For printf, whose %llu is not uint64_t everywhere.
inline unsigned long long number(uint64_t n) { return n; }

void write_text(Writer& out, const Snapshot& snapshot);
void write_json(Writer& out, const Snapshot& snapshot);
void write_prometheus(Writer& out, const Snapshot& snapshot);

}  // namespace pktmalloc
