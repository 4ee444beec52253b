// SPDX-License-Identifier: MIT
// TopScreen: `top` on a terminal. Three views: all processes that have the library, one of them by
// class, and its objects by type; above any, on demand, what the keys do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tools/command/live/live_table.h"
#include "tools/command/live/process_table.h"
#include "tools/command/top/object_view.h"
#include "tools/command/top/terminal.h"

namespace pktmalloc {

class TopScreen {
 public:
  TopScreen(std::chrono::steady_clock::duration delay, Order order)
      : delay_(delay), order_(order) {}

  // Until the user quits. Without a pid the user chooses. Throws Failure before the screen is
  // taken when the process cannot be read.
  void run(pid_t pid);

 private:
  void refresh(bool at_once);
  bool obey(int key);  // false: quit
  void obey_chooser(int key);
  void obey_watch(int key);
  bool obey_scroll(int key);  // false: the key is for something else
  void show_processes();
  void show_watch();
  void show_objects();
  void show_table(std::vector<Line> lines, const std::vector<Line>& rows,
                  const std::string& bottom);
  void show_help();
  void scroll_to(size_t rows, size_t room, size_t kept);

  const std::chrono::steady_clock::duration delay_;
  Order order_;
  std::optional<Watch> watch_;         // none: the processes are shown
  std::optional<ObjectView> objects_;  // shown instead of the classes
  bool chooses_ = false;               // the user may go back to them
  bool helps_ = false;                 // the keys are shown instead
  ProcessTable processes_;
  pid_t chosen_ = 0;
  size_t first_ = 0;  // row shown
  std::string message_;
  std::optional<Terminal> terminal_;
};

}  // namespace pktmalloc
