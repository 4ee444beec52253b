// SPDX-License-Identifier: MIT
// Terminal: one with a shell in it, by tmux; keys go in, the screen comes out. Whoever waits for
// something on the screen fails, with what is there, when it does not come.
#pragma once

#include <chrono>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/patience.h"
#include "tests/program.h"
#include "tests/temporary_folder.h"

class Terminal {
 public:
  Terminal(int columns, int rows) {
    tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
          std::to_string(rows), "PS1='$ ' sh"});
    until("$");
  }
  ~Terminal() { tmux({"kill-server"}); }

  void type(const std::string& text) { tmux({"send-keys", "-l", text}); }
  void press(const std::string& key) { tmux({"send-keys", key}); }
  void command(const std::string& text) {
    type(text);
    press("Enter");
  }
  void resize(int columns, int rows) {
    tmux({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
  }

  std::string screen() { return tmux({"capture-pane", "-p"}).out; }
  std::string screen_with_colours() { return tmux({"capture-pane", "-p", "-e"}).out; }

  // The screen once it is as wanted.
  std::string until(const std::function<bool(const std::string&)>& wanted) {
    const auto end = end_of_patience();
    std::string text = screen();
    while (!wanted(text)) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("stays at\n" + text);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      text = screen();
    }
    return text;
  }
  std::string until(const std::string& wanted) {
    return until([&](const std::string& text) { return text.find(wanted) != std::string::npos; });
  }

 private:
  Outcome tmux(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tmux", "-S", folder_ / "socket"});
    return Program(arguments).with("TMUX", "").with("LC_ALL", "C.UTF-8").run();
  }

  TemporaryFolder folder_;
};
