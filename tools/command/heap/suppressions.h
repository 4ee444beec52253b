// SPDX-License-Identifier: MIT
// Suppressions: leaks that are not to be told, from a file in the form of LeakSanitizer's: lines
// "leak:pattern", and comments that begin with #. A pattern stands for any text that holds it; * in
// it is any text, ^ at its front and $ at its end are those of the text.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

class Suppressions {
 public:
  Suppressions() = default;
  // Throws Failure when it cannot be read or has another line.
  explicit Suppressions(const std::string& file);

  bool match(const std::string& text) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace pktmalloc
