// SPDX-License-Identifier: MIT
#include "preload/reports/order.h"

#include <cstring>

#include "preload/base/message.h"
#include "preload/process/heap.h"
#include "preload/process/next_allocator.h"
#include "preload/process/thread.h"
#include "preload/recording/profile.h"
#include "preload/recording/trace.h"
#include "preload/recording/trace_order.h"
#include "preload/reports/report.h"

namespace pktmalloc {
namespace {

template <recording::Content kWhat>
bool report(const char* file, Writer& out) {
  return report_on_demand(kWhat, file, out);
}

bool trim(const char* /*file*/, Writer& out) {
  const uint64_t bytes = heap.trim(nullptr);
  next_allocator().trim(0);
  out.print("%llu bytes are given back", static_cast<unsigned long long>(bytes));
  return true;
}

// From the next call of each thread on.
bool start_profile(const char* /*file*/, Writer& out) {
  const char* why = prepare_profile();
  if (why == nullptr) {
    const Lock no_fork(threads_mutex);
    why = begin_profile();
  }
  if (why == nullptr) divert_next_calls();
  out.print("the heap profile %s", why != nullptr ? why : "begins");
  return why == nullptr;
}

bool stop_profile(const char* /*file*/, Writer& out) {
  const Lock no_fork(threads_mutex);
  const char* const why = end_profile();
  out.print("the heap profile %s", why != nullptr ? why : "takes no more samples");
  return why == nullptr;
}

bool tell_of_trace(const char* why, const char* done, Writer& out) {
  if (why != nullptr) {
    out.print("the trace %s", why);
  } else {
    out.print("calls are %s %s", done, trace_path());
  }
  return why == nullptr;
}

bool order_trace(const char* file, Writer& out) {
  const char* why;
  {
    const Lock no_fork(threads_mutex);
    why = start_trace(file);
  }
  if (why == nullptr) divert_next_calls();
  return tell_of_trace(why, "recorded in", out);
}

bool end_trace(const char* /*file*/, Writer& out) {
  const Lock no_fork(threads_mutex);
  return tell_of_trace(stop_trace(), "in", out);
}

struct Order {
  const char* words;
  bool takes_file;
  bool (*obey)(const char* file, Writer& out);  // nullptr: no file is named
};
constexpr Order kOrders[] = {
    {"stats", true, report<recording::Content::kStatistics>},
    {"profile", true, report<recording::Content::kProfile>},
    {"sizes", true, report<recording::Content::kSizes>},
    {"profile start", false, start_profile},
    {"profile stop", false, stop_profile},
    {"trace start", true, order_trace},
    {"trace stop", false, end_trace},
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
