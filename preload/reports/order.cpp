// SPDX-License-Identifier: MIT
#include "preload/reports/order.h"

#include <cstring>

#include "preload/base/message.h"
#include "preload/process/heap.h"
#include "preload/process/next_allocator.h"
#include "preload/reports/report.h"

namespace pktmalloc {
namespace {

bool trim(const char* /*file*/, Writer& out) {
  const uint64_t bytes = heap.trim(nullptr);
  next_allocator().trim(0);
  out.print("%llu bytes are given back", static_cast<unsigned long long>(bytes));
  return true;
}

struct Order {
  const char* words;
  bool takes_file;
  bool (*obey)(const char* file, Writer& out);  // nullptr: no file is named
};
constexpr Order kOrders[] = {
    {"stats", true,
     [](const char* file, Writer& out) {
       return report_on_demand(Demand::kStatistics, file, out);
     }},
    {"profile", true,
     [](const char* file, Writer& out) { return report_on_demand(Demand::kProfile, file, out); }},
    {"sizes", true,
     [](const char* file, Writer& out) { return report_on_demand(Demand::kSizes, file, out); }},
    {"trim", false, trim},
};

bool refuse(const char* order, Writer& out) {
  out.print("%s is not understood; accepted:", Excerpt(order, strlen(order)).text);
  const char* before = " ";
  for (const Order& known : kOrders) {
    out.print("%s%s%s", before, known.words, known.takes_file ? " [FILE]" : "");
    before = ", ";
  }
  return false;
}

}  // namespace

bool obey(char* order, Writer& out) {
  char* const file = strstr(order, " /");
  if (file != nullptr) *file = '\0';
  for (const Order& known : kOrders) {
    if (strcmp(order, known.words) != 0 || (file != nullptr && !known.takes_file)) continue;
    return known.obey(file != nullptr ? file + 1 : nullptr, out);
  }
  if (file != nullptr) *file = ' ';
  return refuse(order, out);
}

}  // namespace pktmalloc
