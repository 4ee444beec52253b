// SPDX-License-Identifier: MIT
// Axis: from 0 to a little more than the largest value, with ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

enum class Unit { kBytes, kCount, kMilliseconds, kSeconds };

// "12.3 MiB", "1.23 k", "640 ms", "0:30"
std::string quantity_text(Unit unit, double value);

class Axis {
 public:
  // At most so many steps from 0 to the largest. An axis that `ends` ends there, without room.
  Axis(Unit unit, double largest, int most_steps, bool ends = false);

  struct Tick {
    double place;  // 0 to 1
    std::string text;
  };
  std::vector<Tick> ticks() const;
  // 0 to 1 along the axis.
  double place(double value) const { return value / end_; }

 private:
  std::string text(double value) const;

  Unit unit_;
  double scale_;  // of bytes: the unit of the largest
  double step_, end_;
};

}  // namespace pktmalloc
