// SPDX-License-Identifier: MIT
#include "tools/command/heap/suppressions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tools/command/failure.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

constexpr std::string_view kSpaces = " \t\r", kKind = "leak:";

bool is_match(std::string_view text, std::string_view pattern) {
  const bool at_front = pattern.starts_with('^');
  if (at_front) pattern.remove_prefix(1);
  const bool at_end = pattern.ends_with('$');
  if (at_end) pattern.remove_suffix(1);
  // Each part behind the one before, as early as can be; the last one at the end.
  for (bool first = true;; first = false) {
    const size_t star = pattern.find('*');
    const std::string_view part = pattern.substr(0, star);
    const bool last = star == std::string_view::npos;
    if (last && at_end && !(first && at_front)) return text.ends_with(part);
    const size_t found = text.find(part);
    if (found == std::string_view::npos || (first && at_front && found != 0)) return false;
    text.remove_prefix(found + part.size());
    if (last) return !at_end || text.empty();
    pattern.remove_prefix(star + 1);
  }
}

}  // namespace

Suppressions::Suppressions(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) throw Failure("cannot read {}: {}", file, strerror(errno));
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Failure("cannot read {}: it is a folder", file);
  }
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.erase(line.find_last_not_of(kSpaces) + 1);
    line.erase(0, line.find_first_not_of(kSpaces));
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with(kKind) || line.size() == kKind.size()) {
      throw Failure("{}, line {}: {} is not understood; lines are leak:pattern", file, number,
                    printable(line));
    }
    patterns_.push_back(line.substr(kKind.size()));
  }
}

bool Suppressions::match(const std::string& text) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return is_match(text, pattern); });
}

}  // namespace pktmalloc
