// SPDX-License-Identifier: MIT
// Failure: what was asked for cannot be done. main() prints it as one line, "pktmalloc: ...", on
// stderr and ends with status 2. Thrown before anything is written.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

namespace pktmalloc {

class Failure : public std::runtime_error {
 public:
  template <typename... Arguments>
  explicit Failure(fmt::format_string<Arguments...> format, Arguments&&... arguments)
      : std::runtime_error(fmt::format(format, std::forward<Arguments>(arguments)...)) {}
};

}  // namespace pktmalloc
