// SPDX-License-Identifier: MIT
#include "tools/command/text/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pktmalloc {
namespace {

// Letters to be put in, left out or replaced before one word becomes the other.
size_t distance(const std::string& one, const std::string& other) {
  std::vector<size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < other.size(); ++j) {
      const size_t replaced = diagonal + (one[i] != other[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row[other.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& options) {
  std::string found;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& option : options) {
    const bool begins = word.size() > 3 && option.starts_with(word);
    const size_t away = begins ? 1 : distance(word, option);
    if (away < least) found = option;
    least = std::min(least, away);
  }
  return found;
}

}  // namespace pktmalloc
