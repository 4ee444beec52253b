// SPDX-License-Identifier: MIT
#include "tools/command/live/terminal.h"

#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  return signals;
}

int milliseconds_until(std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<int64_t>(left.count(), 0));
}

}  // namespace

Terminal::Terminal() {
  setlocale(LC_CTYPE, "");
  screen_ = newterm(nullptr, stdout, stdin);
  const char* const term = getenv("TERM");
  const std::string name = term != nullptr ? term : "";
  if (screen_ == nullptr) {
    throw Failure("the terminal \"{}\" is not known; top --once prints without one", name);
  }
  char cursor_address[] = "cup";
  if (tigetstr(cursor_address) == nullptr) {
    endwin();
    delscreen(static_cast<SCREEN*>(screen_));
    throw Failure("the terminal \"{}\" cannot move its cursor; top --once prints without that",
                  name);
  }
  const sigset_t signals = ending_signals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(25);
  curs_set(0);
}

Terminal::~Terminal() {
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
  close(signals_);
  const sigset_t signals = ending_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  if (signal_ != 0) {
    signal(signal_, SIG_DFL);
    raise(signal_);
  }
}

size_t Terminal::rows() const { return static_cast<size_t>(std::max(LINES, 0)); }

void Terminal::show(const std::vector<Line>& lines) {
  erase();
  for (size_t row = 0; row < std::min(lines.size(), rows()); ++row) {
    const Line& line = lines[row];
    const attr_t look = line.look == Line::kBold       ? A_BOLD
                        : line.look == Line::kReversed ? A_REVERSE
                                                       : A_NORMAL;
    attrset(static_cast<int>(look));
    mvaddnstr(static_cast<int>(row), 0, line.text.c_str(), COLS);
    if (line.look == Line::kReversed) mvchgat(static_cast<int>(row), 0, -1, look, 0, nullptr);
  }
  attrset(A_NORMAL);
  refresh();
}

int Terminal::key(std::chrono::steady_clock::time_point until, int descriptor) {
  for (;;) {
    if (const int pressed = getch(); pressed != ERR) return pressed;
    pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}, {descriptor, POLLIN, 0}};
    const int ready = poll(sources, 3, milliseconds_until(until));
    if (ready == 0) return kNothing;
    if (ready < 0) continue;  // a signal, such as that of another size
    signalfd_siginfo signal;
    if (read(signals_, &signal, sizeof signal) == sizeof signal) {
      signal_ = static_cast<int>(signal.ssi_signo);
      return kEnd;
    }
    if ((sources[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return kEnd;
    if (sources[0].revents == 0 && sources[2].revents != 0) return kNothing;
  }
}

}  // namespace pktmalloc
