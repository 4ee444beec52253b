// SPDX-License-Identifier: MIT
// What `top` shows of a process as a whole.
#pragma once

#include <string>
#include <vector>

#include "tools/command/live/line.h"
#include "tools/command/live/watch.h"

namespace pktmalloc {

std::vector<Line> live_totals(const Watch& watch, const Screen& screen);

// A bar of its memory, and what was committed and handed out until now.
std::vector<Line> live_graphs(const Watch& watch, const Screen& screen);

// At most six characters: 99999, 123k, 12.3M; "-" of a negative number.
std::string count(double n);
// At most six characters: 999B, 22.1M.
std::string bytes(double n);

}  // namespace pktmalloc
