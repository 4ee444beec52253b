// SPDX-License-Identifier: MIT
#include "tools/command/system/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "tools/command/text/quantity.h"

namespace pktmalloc {

Progress::Progress(size_t runs) : runs_(runs), is_shown_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (is_shown_) fputs("\r\033[K", stderr);
}

void Progress::note(const std::string& what) {
  if (!is_shown_) return;
  fputs(fmt::format("\r\033[K{}", what).c_str(), stderr);
  fflush(stderr);
}

void Progress::tell(size_t run, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (run <= 1) first_ = now;
  std::string left;
  if (run > 1) {
    const double spent = std::chrono::duration<double>(now - first_).count();
    left = fmt::format(", about {} left", seconds_text(spent / static_cast<double>(run - 1) *
                                                       static_cast<double>(runs_ - run + 1)));
  }
  note(fmt::format("run {} of {}: {}{}", run, runs_, what, left));
}

}  // namespace pktmalloc
