// SPDX-License-Identifier: MIT
// LiveTable: what `top` shows of a process, as lines of 80 columns: totals, then a row a class with
// what happened since the sample before.
#pragma once

#include <string>
#include <vector>

#include "tools/command/live/watch.h"

namespace pktmalloc {

struct Order {
  char key = 'm';  // of a column
  bool reversed = false;
};

// Does a column have this key?
bool is_column_key(char key);
// "class", for the key 'c'.
std::string column_title(char key);

struct LiveTable {
  std::vector<std::string> totals;
  std::string head;
  std::string sum;                // of all classes
  std::vector<std::string> rows;  // of those that were used, in the order asked for
};

LiveTable live_table(const Watch& watch, Order order);

}  // namespace pktmalloc
