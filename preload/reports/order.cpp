// SPDX-License-Identifier: MIT
// Orders: what `pktmalloc tell` may ask for, and how it is done.
#include <cstring>

#include "preload/base/message.h"
#include "preload/process/next_allocator.h"
#include "preload/process/thread.h"
#include "preload/recording/observer.h"
#include "preload/recording/profile.h"
#include "preload/reports/report.h"

namespace pktmalloc {
namespace {

template <recording::Content kWhat>
bool report(const char* file, Writer& out) {
  return report_on_demand(kWhat, file, out);
}

bool trim(const char* /*file*/, Writer& out) {
  const uint64_t bytes = heap.trim(nullptr);
  next_allocator().process().malloc_trim(0);
  out.print("%llu bytes are given back", static_cast<unsigned long long>(bytes));
  return true;
}

// What begins or ends for all threads does so while no fork is under way; what begins, from the
// next call of each thread on. Returns nullptr, or why it does not.
template <typename Change>
const char* change_all(bool begins, const Change& change) {
  const char* why;
  {
    const Lock no_fork(threads_mutex);
    why = change();
  }
  if (begins && why == nullptr) divert_next_calls();
  return why;
}

template <bool kBegins>
bool order_profile(const char* /*file*/, Writer& out) {
  const char* why = kBegins ? prepare_profile() : nullptr;
  if (why == nullptr) why = change_all(kBegins, kBegins ? begin_profile : end_profile);
  const char* const done = kBegins ? "begins" : "takes no more samples";
  out.print("the heap profile %s", why != nullptr ? why : done);
  return why == nullptr;
}

template <bool kBegins>
bool order_trace(const char* file, Writer& out) {
  const char* const why =
      change_all(kBegins, [=] { return kBegins ? start_trace(file) : stop_trace(); });
  if (why != nullptr) {
    out.print("the trace %s", why);
  } else {
    out.print("calls are %s %s", kBegins ? "recorded in" : "in", trace_path());
  }
  return why == nullptr;
}

struct Order {
  const char* words;
  char file[8];                                 // as people are told
  bool (*obey)(const char* file, Writer& out);  // nullptr: no file is named
};
constexpr Order kOrders[] = {
    {"stats", " [FILE]", report<recording::Content::kStatistics>},
    {"profile", " [FILE]", report<recording::Content::kProfile>},
    {"sizes", " [FILE]", report<recording::Content::kSizes>},
    {"profile start", "", order_profile<true>},
    {"profile stop", "", order_profile<false>},
    {"trace start", " FILE", order_trace<true>},
    {"trace stop", "", order_trace<false>},
    {"trim", "", trim},
};

}  // namespace

bool obey(char* order, Writer& out) {
  char* const file = strstr(order, " /");
  if (file != nullptr) *file = '\0';
  for (const Order& known : kOrders) {
    if (strcmp(order, known.words) != 0 || (file != nullptr && *known.file == '\0')) continue;
    return known.obey(file != nullptr ? file + 1 : nullptr, out);
  }
  if (file != nullptr) *file = ' ';
  out.print("%s is not understood; accepted:", Excerpt(order, strlen(order)).text);
  const char* before = " ";
  for (const Order& known : kOrders) {
    out.print("%s%s%s", before, known.words, known.file);
    before = ", ";
  }
  return false;
}

}  // namespace pktmalloc
