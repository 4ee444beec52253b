// SPDX-License-Identifier: MIT
// Terminal: the whole screen while it lives, by ncurses; as it was afterwards, however the command
// ends: also by SIGINT, SIGTERM, SIGHUP or SIGQUIT, which take effect when the screen is restored.
#pragma once

#include <chrono>
#include <vector>

#include "tools/command/live/line.h"

namespace pktmalloc {

class Terminal {
 public:
  // Throws Failure when the terminal is not known.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  size_t rows() const;
  Screen screen() const;
  // From the top; what does not fit is cut. In colours, where the terminal has them and nobody
  // asked for none (NO_COLOR).
  void show(const std::vector<Line>& lines);

  static constexpr int kNothing = -1;
  static constexpr int kEnd = -2;  // by a signal, or the terminal has gone
  // The next key as ncurses numbers it, kNothing at that time or when `descriptor` is readable.
  int key(std::chrono::steady_clock::time_point until, int descriptor = -1);

 private:
  void* screen_;
  int signals_;
  bool blocks_ = false;
  int signal_ = 0;  // that came
};

}  // namespace pktmalloc
