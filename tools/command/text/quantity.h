// SPDX-License-Identifier: MIT
// Quantities as people read them: "12.3 MiB", "3,000,002", "640 ms", "x 0.79".
#pragma once

#include <cstdint>
#include <string>

namespace pktmalloc {

// In the largest unit that leaves a digit before the point; nine letters at the most.
std::string bytes_text(double bytes);
inline std::string bytes_text(uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
// With its sign, "+12.3 MiB"; "=" for no change.
std::string bytes_change(uint64_t before, uint64_t after);
std::string count_change(uint64_t before, uint64_t after);

// 3,000,002
std::string count_text(uint64_t count);
// Three digits: 12.3, 456, 1.23 k, 4.5 M.
std::string short_text(double number);
// Three digits: 850 us, 640 ms, 12.3 s, 14 min.
std::string duration_text(double milliseconds);
// 93.4 %; "-" of nothing.
std::string share_text(uint64_t part, uint64_t whole);
// 2026-11-21 16:40:12, as clocks show it here.
std::string moment_text(double seconds_since_epoch);

// 0:07, 12:30, 3:00:00
std::string elapsed_text(double seconds);

// 45 s, 12 min 30 s, 3 h 5 min
std::string seconds_text(double seconds);

}  // namespace pktmalloc
