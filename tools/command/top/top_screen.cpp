// SPDX-License-Identifier: MIT
#include "tools/command/top/top_screen.h"

#include <ncurses.h>

#include <algorithm>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr int kEscape = 27;
constexpr int kReturn = 13;
constexpr int kObjectsKey = 'o';

size_t chosen_row(const ProcessTable& table, pid_t pid) {
  const auto at = std::find_if(table.rows.begin(), table.rows.end(),
                               [pid](const ProcessRow& row) { return row.pid >= pid; });
  const size_t row = static_cast<size_t>(at - table.rows.begin());
  return table.rows.empty() ? 0 : std::min(row, table.rows.size() - 1);
}

}  // namespace

void TopScreen::run(pid_t pid) {
  if (pid != 0) {
    watch_.emplace(pid);
  } else {
    chooses_ = true;
    processes_ = process_table();
  }
  terminal_.emplace();
  auto next = std::chrono::steady_clock::now() + delay_;
  for (;;) {
    if (helps_) {
      show_help();
    } else if (objects_) {
      show_objects();
    } else if (watch_) {
      show_watch();
    } else {
      show_processes();
    }
    const bool ended = !watch_ || watch_->ended();
    const int key = terminal_->key(next, ended ? -1 : watch_->end_descriptor());
    if (key == Terminal::kEnd || !(key == Terminal::kNothing || obey(key))) break;
    if (key != Terminal::kNothing && key != ' ') continue;
    refresh(key == ' ');
    next = std::chrono::steady_clock::now() + delay_;
  }
  terminal_.reset();
}

void TopScreen::refresh(bool at_once) {
  if (objects_) {
    objects_->update(at_once);
  } else if (!watch_) {
    processes_ = process_table();
  } else if (!watch_->ended() || watch_->message().empty()) {
    watch_->update();
  }
}

bool TopScreen::obey(int key) {
  const bool help_ends = helps_;
  helps_ = !helps_ && (key == 'h' || key == '?');
  if (helps_ || help_ends) return true;
  if (key == 'q' || key == 'Q') return false;
  message_.clear();
  if (watch_) {
    obey_watch(key);
  } else {
    obey_chooser(key);
  }
  return true;
}

void TopScreen::obey_chooser(int key) {
  if (processes_.rows.empty()) return;
  const size_t row = chosen_row(processes_, chosen_);
  const size_t last = processes_.rows.size() - 1;
  const size_t page = terminal_->rows() / 2;
  const auto choose = [&](size_t to) { chosen_ = processes_.rows[std::min(to, last)].pid; };
  switch (key) {
    case KEY_UP:
      choose(row - std::min<size_t>(row, 1));
      break;
    case KEY_DOWN:
      choose(row + 1);
      break;
    case KEY_PPAGE:
      choose(row - std::min(row, page));
      break;
    case KEY_NPAGE:
      choose(row + page);
      break;
    case KEY_HOME:
      choose(0);
      break;
    case KEY_END:
      choose(last);
      break;
    case '\n':
    case kReturn:
    case KEY_ENTER:
      choose(row);
      try {
        watch_.emplace(chosen_);
        first_ = 0;
      } catch (const Failure& failure) {
        message_ = failure.what();
      }
      break;
    default:
      break;
  }
}

bool TopScreen::obey_scroll(int key) {
  const size_t page = terminal_->rows() / 2;
  switch (key) {
    case KEY_UP:
      first_ -= std::min<size_t>(first_, 1);
      return true;
    case KEY_DOWN:
      ++first_;
      return true;
    case KEY_PPAGE:
      first_ -= std::min(first_, page);
      return true;
    case KEY_NPAGE:
      first_ += page;
      return true;
    case KEY_HOME:
      first_ = 0;
      return true;
    default:
      return false;
  }
}

void TopScreen::obey_watch(int key) {
  if (obey_scroll(key)) return;
  if (key == 'r' && !objects_) order_.reversed = !order_.reversed;
  if (key == kObjectsKey || key == kEscape) {
    first_ = 0;
    if (objects_) {
      objects_.reset();
    } else if (key == kObjectsKey) {
      try {
        objects_.emplace(watch_->pid());
      } catch (const Failure& failure) {
        message_ = failure.what();
      }
    } else if (chooses_) {
      watch_.reset();
      processes_ = process_table();
    }
  } else if (!objects_ && key > 0 && key < 128 && is_column_key(static_cast<char>(key))) {
    order_ = {static_cast<char>(key)};
    first_ = 0;
  }
}

// So that `kept` is among the `room` rows shown, and no room is left over.
void TopScreen::scroll_to(size_t rows, size_t room, size_t kept) {
  first_ = std::min(first_, rows > room ? rows - room : 0);
  if (kept < first_) first_ = kept;
  if (kept >= first_ + room) first_ = kept - room + 1;
}

void TopScreen::show_processes() {
  std::vector<Line> lines = {
      {{fitting("pktmalloc top: the processes that use pktmalloc", terminal_->screen().columns),
        Style::kBold}},
      {{kProcessTableHead, Style::kReversed}}};
  const size_t height = terminal_->rows();
  const size_t room = height > 4 ? height - 4 : 1;
  const size_t chosen = chosen_row(processes_, chosen_);
  scroll_to(processes_.rows.size(), room, chosen);
  for (size_t row = first_; row < std::min(first_ + room, processes_.rows.size()); ++row) {
    lines.push_back({{(row == chosen ? ">" : " ") + processes_.rows[row].text().substr(1),
                      row == chosen ? Style::kBold : Style::kPlain}});
  }
  if (processes_.rows.empty()) {
    lines.push_back({{"none yet; start one with: pktmalloc run COMMAND"}});
  }
  lines.resize(std::max(lines.size(), height - std::min<size_t>(height, 2)));
  const bool refused = message_.empty() && !processes_.refusals.empty();
  lines.push_back({{refused ? processes_.refusals[0] : message_, Style::kBold}});
  lines.push_back(
      {{"Enter shows the process, Up and Down choose, h help, q quits", Style::kReversed}});
  terminal_->show(lines);
}

void TopScreen::show_watch() {
  constexpr size_t kRowsForGraphs = 22;
  const LiveTable table = live_table(*watch_, order_, terminal_->screen());
  const size_t height = terminal_->rows();
  std::vector<Line> lines = table.totals;
  if (height >= kRowsForGraphs) {
    lines.insert(lines.end(), table.graphs.begin(), table.graphs.end());
  }
  lines.push_back({{message_.empty() ? watch_->message() : message_, Style::kBold}});
  lines.push_back(table.head);
  lines.push_back(table.sum);
  show_table(lines, table.rows,
             fmt::format("by {}{}; h help, q quits{}", column_title(order_.key),
                         order_.reversed ? ", reversed" : "", chooses_ ? ", Esc back" : ""));
}

void TopScreen::show_objects() {
  show_table(objects_->head(), objects_->rows(), "objects by type; h help, q quits, Esc back");
}

// As much of the rows as there is room for between the other lines.
void TopScreen::show_table(std::vector<Line> lines, const std::vector<Line>& rows,
                           const std::string& bottom) {
  const size_t height = terminal_->rows();
  const size_t around = lines.size() + 1;
  const size_t room = height > around ? height - around : 1;
  scroll_to(rows.size(), room, first_);
  const size_t end = std::min(first_ + room, rows.size());
  for (size_t row = first_; row < end; ++row) lines.push_back(rows[row]);
  lines.resize(std::max(lines.size(), height - std::min<size_t>(height, 1)));
  const size_t more = rows.size() - end;
  lines.push_back({{bottom + (more > 0 ? fmt::format("; {} more", more) : ""), Style::kReversed}});
  terminal_->show(lines);
}

void TopScreen::show_help() {
  std::vector<Line> lines = {{{"Keys of pktmalloc top", Style::kBold}}};
  const auto add = [&lines](const std::string& text) { lines.push_back({{text}}); };
  add("");
  add("sort by a column, and what it shows:");
  for (const std::string& column : column_help()) add(column);
  add("  r  reverses the order");
  add("Space reads at once; arrows, Page Up and Down scroll");
  add("  o  shows objects by type, those that grow most first; o or Escape goes back");
  add("Enter shows the process chosen, Escape goes back to all");
  add("h or ? this help, q quits");
  lines.resize(std::max(lines.size(), terminal_->rows() - 1));
  lines.push_back({{"any key goes back", Style::kReversed}});
  terminal_->show(lines);
}

}  // namespace pktmalloc
