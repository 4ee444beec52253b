// SPDX-License-Identifier: MIT
// LiveTable: what `top` shows of a process, as lines: totals, graphs, then a row a class with what
// happened since the sample before. A narrow screen has fewer columns, a wide one more.
#pragma once

#include <string>
#include <vector>

#include "tools/command/live/line.h"
#include "tools/command/live/watch.h"

namespace pktmalloc {

struct Order {
  char key = 'm';  // of a column
  bool reversed = false;
};

// Of all columns: "c l a f ...".
std::string column_keys();
bool is_column_key(char key);
// "class", for the key 'c'.
std::string column_title(char key);
// A line a column: key, title, what it is.
std::vector<std::string> column_help();

struct LiveTable {
  std::vector<Line> totals;
  std::vector<Line> graphs;  // memory, and what was
  Line head;
  Line sum;                // of all classes
  std::vector<Line> rows;  // of those that were used, in the order asked for
};

LiveTable live_table(const Watch& watch, Order order, const Screen& screen);

}  // namespace pktmalloc
