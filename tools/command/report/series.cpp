// SPDX-License-Identifier: MIT
#include "tools/command/report/series.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

bool is_used(const ClassStatistics& c) { return c.allocs > 0 || c.fills > 0 || c.commits > 0; }

std::tuple<double, uint64_t> age(const Reading& r) {
  return {r.time, r.snapshot.process.allocs + r.snapshot.process.frees};
}

ClassStatistics& entry(HeapStatistics& heap, uint64_t object_bytes) {
  unsigned at = 0;
  while (at < heap.classes && heap.of[at].object_bytes < object_bytes) ++at;
  if (at < heap.classes && heap.of[at].object_bytes == object_bytes) return heap.of[at];
  if (heap.classes == kMaxClasses) throw Failure("these files have more than {} classes", at);
  std::copy_backward(heap.of + at, heap.of + heap.classes, heap.of + heap.classes + 1);
  ++heap.classes;
  heap.of[at] = ClassStatistics{};
  heap.of[at].object_bytes = object_bytes;
  return heap.of[at];
}

void add(Snapshot& sum, const Snapshot& more) {
#define PROCESS_STATISTIC(key, kind, help) sum.process.key += more.process.key;
#include "preload/formats/statistics.def"
  for (unsigned i = 0; i < more.heap.classes; ++i) {
    const ClassStatistics& from = more.heap.of[i];
    ClassStatistics& to = entry(sum.heap, from.object_bytes);
#define CLASS_STATISTIC(key, kind, help) to.key += from.key;
#include "preload/formats/statistics.def"
  }
  for (unsigned reason = 0; reason < kPassReasons; ++reason) {
    for (unsigned band = 0; band < kSizeBands; ++band) {
      sum.passed[reason][band] += more.passed[reason][band];
    }
  }
}

uint64_t memory(const Reading& r) {
  return r.snapshot.process.committed_bytes + r.snapshot.process.metadata_bytes;
}

}  // namespace

std::string Series::name() const { return fmt::format("{} {}", program, pid); }

std::vector<Series> series_of(std::vector<Reading> readings) {
  std::stable_sort(readings.begin(), readings.end(),
                   [](const Reading& a, const Reading& b) { return age(a) < age(b); });
  std::vector<Series> all;
  for (Reading& r : readings) {
    auto mine = std::find_if(all.begin(), all.end(), [&](const Series& s) {
      return s.pid == r.pid && s.program == r.program;
    });
    if (mine == all.end()) mine = all.insert(all.end(), Series{r.program, r.pid, {}});
    mine->readings.push_back(std::move(r));
  }
  return all;
}

Reading sum_of(const std::vector<Series>& all) {
  Reading sum;
  for (const Series& series : all) {
    sum.time = std::max(sum.time, series.last().time);
    sum.version = series.last().version;
    add(sum.snapshot, series.last().snapshot);
  }
  return sum;
}

Series thinned(const Series& series, size_t most) {
  const size_t count = series.readings.size();
  if (count <= most) return series;
  Series thin{series.program, series.pid, {series.first()}};
  const size_t stretches = most - 2;
  for (size_t i = 0; i < stretches; ++i) {
    const auto begin = series.readings.begin() + 1;
    const auto from = begin + static_cast<ptrdiff_t>(i * (count - 2) / stretches);
    const auto to = begin + static_cast<ptrdiff_t>((i + 1) * (count - 2) / stretches);
    thin.readings.push_back(*std::max_element(
        from, to, [](const Reading& a, const Reading& b) { return memory(a) < memory(b); }));
  }
  thin.readings.push_back(series.last());
  return thin;
}

std::vector<ClassStatistics> used_classes(const Snapshot& snapshot,
                                          bool (*before)(const ClassStatistics&,
                                                         const ClassStatistics&)) {
  std::vector<ClassStatistics> used;
  std::copy_if(snapshot.heap.of, snapshot.heap.of + snapshot.heap.classes, std::back_inserter(used),
               is_used);
  std::stable_sort(used.begin(), used.end(), before);
  return used;
}

ClassStatistics class_of_size(const Snapshot& snapshot, uint64_t object_bytes) {
  for (unsigned i = 0; i < snapshot.heap.classes; ++i) {
    if (snapshot.heap.of[i].object_bytes == object_bytes) return snapshot.heap.of[i];
  }
  ClassStatistics none{};
  none.object_bytes = object_bytes;
  return none;
}

std::vector<std::pair<ClassStatistics, ClassStatistics>> pairs_of_classes(const Snapshot& before,
                                                                          const Snapshot& after) {
  std::set<uint64_t> sizes;
  for (const Snapshot* snapshot : {&before, &after}) {
    for (unsigned i = 0; i < snapshot->heap.classes; ++i) {
      if (is_used(snapshot->heap.of[i])) sizes.insert(snapshot->heap.of[i].object_bytes);
    }
  }
  std::vector<std::pair<ClassStatistics, ClassStatistics>> pairs;
  for (const uint64_t bytes : sizes) {
    pairs.emplace_back(class_of_size(before, bytes), class_of_size(after, bytes));
  }
  return pairs;
}

}  // namespace pktmalloc
