// SPDX-License-Identifier: MIT
#include "tools/command/text/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "preload/formats/bytes.h"

namespace pktmalloc {
namespace {

// As many digits behind the point as make three.
std::string three_digits(double number) {
  const double size = std::fabs(number);
  return fmt::format("{:.{}f}", number, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

// Files may hold any number.
uint64_t whole(double number) {
  return number > 0 ? static_cast<uint64_t>(std::llround(std::min(number, 9e18))) : 0;
}

std::string change(uint64_t before, uint64_t after, std::string (*text)(uint64_t)) {
  if (before == after) return "=";
  return after > before ? "+" + text(after - before) : "-" + text(before - after);
}

}  // namespace

std::string bytes_text(double bytes) {
  const Bytes size(whole(std::fabs(bytes)));
  return fmt::format("{}{}", bytes <= -0.5 ? "-" : "", size.text);
}

std::string bytes_change(uint64_t before, uint64_t after) {
  return change(before, after, [](uint64_t n) { return bytes_text(n); });
}

std::string count_change(uint64_t before, uint64_t after) {
  return change(before, after, count_text);
}

std::string count_text(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string short_text(double number) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  if (number == std::floor(number) && std::fabs(number) < 1000)
    return fmt::format("{:.0f}", number);
  unsigned unit = 0;
  for (; std::fabs(number) >= 999.5 && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return three_digits(number) + kUnits[unit];
}

std::string duration_text(double milliseconds) {
  if (milliseconds < 0.9995) return three_digits(milliseconds * 1e3) + " us";
  if (milliseconds < 999.5) return three_digits(milliseconds) + " ms";
  if (milliseconds < 599.5e3) return three_digits(milliseconds / 1e3) + " s";
  return three_digits(milliseconds / 60e3) + " min";
}

std::string share_text(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string moment_text(double seconds_since_epoch) {
  const time_t seconds = static_cast<time_t>(whole(std::min(seconds_since_epoch, 1e11)));
  tm local{};
  char text[32] = "";
  if (localtime_r(&seconds, &local) == nullptr ||
      strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0) {
    return "?";
  }
  return text;
}

std::string elapsed_text(double seconds) {
  if (const uint64_t tenths = whole(seconds * 10); tenths < 600 && tenths % 10 != 0) {
    return fmt::format("0:{:02}.{}", tenths / 10, tenths % 10);
  }
  const uint64_t s = whole(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string seconds_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  const uint64_t s = whole(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

}  // namespace pktmalloc
