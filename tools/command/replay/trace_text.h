// SPDX-License-Identifier: MIT
// What a trace holds, as text and as JSON (`pktmalloc replay --info`).
#pragma once

#include <string>

#include "tools/command/replay/trace.h"

namespace pktmalloc {

std::string info_text(const Trace& trace);
std::string info_json(const Trace& trace);

// "redis-server 1234: 1,234,567 calls of 6 threads in 3.2 s"
std::string title_of(const Trace& trace);

}  // namespace pktmalloc
