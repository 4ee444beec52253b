// SPDX-License-Identifier: MIT
#include "tools/command/tune/class_tuner.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "sizeclass/slabs/class_table.h"
#include "tools/command/tune/table_fit.h"

namespace pktmalloc {
namespace {

struct Cost {
  uint64_t passed = 0;  // calls
  uint64_t lost = 0;    // bytes of pages at the peak beyond those asked for
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const { return {passed + other.passed, lost + other.lost}; }
};

constexpr size_t kAnyAlignment = ClassTable::kSmallStep;  // every class has it

size_t round_to(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

size_t round_to_class(size_t bytes) {
  return round_to(std::max<size_t>(bytes, 1), bytes <= ClassTable::kSmallLimit
                                                  ? ClassTable::kSmallStep
                                                  : ClassTable::kMediumStep);
}

// What a request needs of a class: so many bytes.
size_t needed(const SizeRecord& record) {
  return record.alignment <= kAnyAlignment
             ? round_to_class(record.bytes)
             : round_to(std::max<size_t>(record.bytes, 1), record.alignment);
}

// Can a class serve it at all?
bool within(const SizeRecord& record, size_t largest) {
  return record.alignment <= largest && record.bytes <= largest && needed(record) <= largest;
}

// Requests of one alignment, ascending by the bytes that they need at least; sums over the first n.
class Requests {
 public:
  void add(size_t needed, const SizeRecord& record) {
    needed_.push_back(needed);
    calls_.push_back(calls_.back() + record.calls);
    objects_.push_back(objects_.back() + record.live_at_peak);
    bytes_.push_back(bytes_.back() + record.live_at_peak * record.bytes);
  }

  // How many need so much at the most.
  size_t within(size_t bytes) const {
    return static_cast<size_t>(std::upper_bound(needed_.begin(), needed_.end(), bytes) -
                               needed_.begin());
  }
  uint64_t calls(size_t from, size_t to) const { return calls_[to] - calls_[from]; }
  uint64_t objects(size_t from, size_t to) const { return objects_[to] - objects_[from]; }
  uint64_t bytes(size_t from, size_t to) const { return bytes_[to] - bytes_[from]; }
  size_t count() const { return needed_.size(); }

 private:
  std::vector<size_t> needed_;
  std::vector<uint64_t> calls_{0}, objects_{0}, bytes_{0};
};

class Tuner {
 public:
  Tuner(const std::vector<SizeRecord>& sizes, const TuningLimits& limits) : limits_(limits) {
    collect(sizes);
    find_candidates(sizes);
    measure();
  }

  std::vector<size_t> best() {
    const size_t most = std::min<size_t>(limits_.classes, sizes_.size() - 1);
    std::vector<Cost> before(sizes_.size(), kNever);  // of the best n classes, the last is j
    before[0] = {};
    std::vector<std::vector<uint16_t>> chosen(most + 1);
    Cost least = end(0, before);
    size_t classes = 0;
    size_t last = 0;
    for (size_t n = 1; n <= most; ++n) {
      before = step(before, chosen[n]);
      for (size_t j = 1; j < sizes_.size(); ++j) {
        if (const Cost cost = end(j, before); cost < least) {
          least = cost;
          classes = n;
          last = j;
        }
      }
    }
    std::vector<size_t> table;
    for (; classes > 0; last = chosen[classes--][last]) table.push_back(sizes_[last]);
    std::reverse(table.begin(), table.end());
    return table;
  }

 private:
  static constexpr Cost kNever{UINT64_MAX, 0};

  void collect(const std::vector<SizeRecord>& sizes) {
    std::map<size_t, std::vector<std::pair<size_t, const SizeRecord*>>> sorted;
    for (const SizeRecord& record : sizes) {
      if (!within(record, limits_.largest)) continue;
      sorted[std::max<size_t>(record.alignment, kAnyAlignment)].push_back(
          {needed(record), &record});
    }
    for (auto& [alignment, records] : sorted) {
      std::stable_sort(records.begin(), records.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [bytes, record] : records) requests_[alignment].add(bytes, *record);
    }
  }

  // A class just as large as one of its requests needs is never worse than a larger one (nor does
  // as many objects of a larger class ever need fewer pages); so these sizes are enough, each also
  // rounded up for every alignment that is asked for. 0: no class.
  void find_candidates(const std::vector<SizeRecord>& sizes) {
    std::set<size_t> found{0};
    found.insert(limits_.kept.begin(), limits_.kept.end());
    for (const SizeRecord& record : sizes) {
      if (!within(record, limits_.largest)) continue;
      for (const auto& [alignment, group] : requests_) {
        const size_t bytes = round_to_class(round_to(needed(record), alignment));
        if (bytes <= limits_.largest) found.insert(bytes);
      }
    }
    sizes_.assign(found.begin(), found.end());
    for (size_t j = 0; j < sizes_.size(); ++j) {
      const auto kept = [&](size_t i) {
        return std::count(limits_.kept.begin(), limits_.kept.end(), sizes_[i]) > 0;
      };
      lowest_before_.push_back(j == 0 ? 0 : kept(j - 1) ? j - 1 : lowest_before_[j - 1]);
      if (kept(j)) last_kept_ = j;
    }
  }

  // costs_: what lies between the classes i and j, served by j or by none.
  void measure() {
    const size_t count = sizes_.size();
    costs_.resize(count * (count - 1) / 2);
    tail_.resize(count);
    std::map<size_t, std::vector<size_t>> below_of;  // by alignment: how many need no more
    for (const auto& [alignment, group] : requests_) {
      for (const size_t bytes : sizes_) below_of[alignment].push_back(group.within(bytes));
      tail_[0] += group.calls(0, group.count());
    }
    for (size_t j = 1; j < count; ++j) {
      std::vector<uint64_t> objects(j), bytes(j);
      for (const auto& [alignment, group] : requests_) {
        const std::vector<size_t>& below = below_of[alignment];
        tail_[j] += group.calls(below[j], group.count());
        const bool suits = sizes_[j] % alignment == 0;
        const size_t half = group.within((sizes_[j] - 1) / 2);  // these fill less
        for (size_t i = 0; i < j; ++i) {
          const size_t served = suits ? std::clamp(half, below[i], below[j]) : below[j];
          between(i, j).passed += group.calls(below[i], served);
          objects[i] += group.objects(served, below[j]);
          bytes[i] += group.bytes(served, below[j]);
        }
      }
      const SizeClass geometry = ClassTable::describe(sizes_[j], ClassTable::kUnitShift);
      for (size_t i = 0; i < j; ++i) {
        between(i, j).lost = page_bytes(geometry, objects[i]) - bytes[i];
      }
    }
  }

  Cost& between(size_t i, size_t j) { return costs_[j * (j - 1) / 2 + i]; }

  // One class more.
  std::vector<Cost> step(const std::vector<Cost>& before, std::vector<uint16_t>& chosen) {
    std::vector<Cost> after(sizes_.size(), kNever);
    chosen.assign(sizes_.size(), 0);
    for (size_t j = 1; j < sizes_.size(); ++j) {
      for (size_t i = lowest_before_[j]; i < j; ++i) {
        if (before[i] == kNever) continue;
        if (const Cost cost = before[i] + between(i, j); cost < after[j]) {
          after[j] = cost;
          chosen[j] = static_cast<uint16_t>(i);
        }
      }
    }
    return after;
  }

  // When j is the largest class.
  Cost end(size_t j, const std::vector<Cost>& before) const {
    if (j < last_kept_ || before[j] == kNever) return kNever;
    return before[j] + Cost{tail_[j], 0};
  }

  const TuningLimits& limits_;
  std::map<size_t, Requests> requests_;  // by alignment
  std::vector<size_t> sizes_;            // a class may have; ascending
  std::vector<size_t> lowest_before_;    // the class before j must not be lower: one that is kept
  size_t last_kept_ = 0;
  std::vector<Cost> costs_;
  std::vector<uint64_t> tail_;  // calls above
};

}  // namespace

uint64_t least_rounding(const std::vector<SizeRecord>& sizes, size_t largest) {
  uint64_t lost = 0;
  for (const SizeRecord& record : sizes) {
    if (!within(record, largest)) continue;
    lost += (round_to_class(needed(record)) - record.bytes) * record.live_at_peak;
  }
  return lost;
}

std::vector<size_t> tune(const std::vector<SizeRecord>& sizes, const TuningLimits& limits) {
  return Tuner(sizes, limits).best();
}

}  // namespace pktmalloc
