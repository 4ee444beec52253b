// SPDX-License-Identifier: MIT
#include "tools/command/top/terminal.h"

#include <langinfo.h>
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

// A colour that is not there is none.
attr_t attributes_of(Style style) {
  switch (style) {
    case Style::kBold:
      return A_BOLD;
    case Style::kDim:
      return A_DIM;
    case Style::kReversed:
      return A_REVERSE;
    case Style::kKey:
      return A_REVERSE | A_UNDERLINE;
    case Style::kLive:
      return static_cast<attr_t>(COLOR_PAIR(COLOR_GREEN));
    case Style::kCached:
      return static_cast<attr_t>(COLOR_PAIR(COLOR_YELLOW));
    case Style::kFree:
      return static_cast<attr_t>(COLOR_PAIR(COLOR_BLUE));
    case Style::kPlain:
      break;
  }
  return A_NORMAL;
}

// How many bytes the first `columns` characters of the text take, and how many these are.
std::pair<int, int> within(const std::string& text, int columns) {
  int characters = 0;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins && characters == columns) break;
    characters += begins;
  }
  return {static_cast<int>(at), characters};
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
  blocks_ = std::string(nl_langinfo(CODESET)) == "UTF-8";
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
  if (!has_colors() || getenv("NO_COLOR") != nullptr) return;
  start_color();
  use_default_colors();
  for (const short colour : {short{COLOR_GREEN}, short{COLOR_YELLOW}, short{COLOR_BLUE}})
    init_pair(colour, colour, -1);
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

Screen Terminal::screen() const { return {static_cast<size_t>(std::max(COLS, 0)), blocks_}; }

void Terminal::show(const std::vector<Line>& lines) {
  erase();
  for (size_t row = 0; row < std::min(lines.size(), rows()); ++row) {
    int left = COLS;
    move(static_cast<int>(row), 0);
    for (const Span& span : lines[row]) {
      const auto [size, characters] = within(span.text, left);
      attrset(static_cast<int>(attributes_of(span.style)));
      addnstr(span.text.c_str(), size);
      left -= characters;
    }
    if (left > 0 && !lines[row].empty() && lines[row].back().style == Style::kReversed) {
      addnstr(std::string(static_cast<size_t>(left), ' ').c_str(), left);
    }
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
