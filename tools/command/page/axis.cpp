// SPDX-License-Identifier: MIT
#include "tools/command/page/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

// The smallest round step, 1, 2 or 5 of a power of ten, of which `most` reach the largest.
double decimal_step(double largest, int most) {
  double step = std::pow(10, std::floor(std::log10(largest / most)));
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    if (step * times * most >= largest * 0.999) return step * times;
  }
  return step * 10;
}

double binary_scale(double largest) {
  double scale = 1;
  while (largest / scale >= 1024) scale *= 1024;
  return scale;
}

double clock_step(double largest, int most) {
  for (const double step :
       {0.1,   0.2,   0.5,   1.0,    2.0,    5.0,    10.0,    15.0,    30.0,    60.0,   120.0,
        300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0, 43200.0, 86400.0}) {
    if (step * most >= largest) return step;
  }
  return 86400 * decimal_step(largest / 86400, most);
}

double step_of(Unit unit, double largest, int most) {
  if (unit == Unit::kSeconds) return clock_step(largest, most);
  if (unit == Unit::kBytes) {
    const double scale = binary_scale(largest);
    return std::max(decimal_step(largest / scale, most) * scale, 1.0);
  }
  return decimal_step(largest, most);
}

}  // namespace

std::string quantity_text(Unit unit, double value) {
  if (unit == Unit::kBytes) return bytes_text(value);
  if (unit == Unit::kMilliseconds) return duration_text(value);
  if (unit == Unit::kSeconds) return elapsed_text(value);
  return short_text(value);
}

Axis::Axis(Unit unit, double largest, int most_steps, bool ends)
    : unit_(unit),
      scale_(binary_scale(largest)),
      step_(step_of(unit, largest > 0 ? largest : 1, most_steps)),
      end_(ends && largest > 0 ? largest : std::max(step_, largest * 1.04)) {}

// All ticks are in the unit of the largest.
std::string Axis::text(double value) const {
  switch (unit_) {
    case Unit::kBytes: {
      const std::string largest = bytes_text(scale_);
      return fmt::format("{:g}{}", value / scale_, largest.substr(largest.find(' ')));
    }
    case Unit::kSeconds:
      return elapsed_text(value);
    case Unit::kMilliseconds:
      return end_ >= 1e3 ? fmt::format("{:g} s", value / 1e3) : fmt::format("{:g} ms", value);
    case Unit::kCount:
      break;
  }
  if (end_ >= 5e9) return fmt::format("{:g} G", value / 1e9);
  if (end_ >= 5e6) return fmt::format("{:g} M", value / 1e6);
  if (end_ >= 5e3) return fmt::format("{:g} k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::vector<Axis::Tick> Axis::ticks() const {
  std::vector<Tick> ticks;
  for (int i = 0; i * step_ <= end_ * 1.0001; ++i) {
    ticks.push_back({place(i * step_), i == 0 && unit_ != Unit::kSeconds ? "0" : text(i * step_)});
  }
  return ticks;
}

}  // namespace pktmalloc
