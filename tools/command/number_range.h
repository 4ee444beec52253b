// SPDX-License-Identifier: MIT
// NumberRange: the check of an option that takes a number, as CLI::Range but refusing in plain
// words; CLI::Range tells 0.1 as 0.100000, and of what is no number that it is out of range.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

namespace pktmalloc {

struct NumberRange : CLI::Validator {
  template <typename Number>
  NumberRange(Number least, Number most) {
    const CLI::Range range(least, most);
    description(range.get_description());
    func_ = [=](std::string& text) {
      return range(text).empty()
                 ? std::string()
                 : fmt::format("{} is not a number from {} to {}", text, least, most);
    };
  }
};

}  // namespace pktmalloc
