// SPDX-License-Identifier: MIT
#include "tools/command/live/top_screen.h"

#include <ncurses.h>

#include <algorithm>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr int kEscape = 27;
constexpr int kReturn = 13;

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
    if (watch_) {
      show_watch();
    } else {
      show_processes();
    }
    const bool ended = !watch_ || watch_->ended();
    const int key = terminal_->key(next, ended ? -1 : watch_->end_descriptor());
    if (key == Terminal::kEnd || !(key == Terminal::kNothing || obey(key))) break;
    if (key != Terminal::kNothing && key != ' ') continue;
    refresh();
    next = std::chrono::steady_clock::now() + delay_;
  }
  terminal_.reset();
}

void TopScreen::refresh() {
  if (!watch_) {
    processes_ = process_table();
  } else if (!watch_->ended() || watch_->message().empty()) {
    watch_->update();
  }
}

bool TopScreen::obey(int key) {
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

void TopScreen::obey_watch(int key) {
  const size_t page = terminal_->rows() / 2;
  switch (key) {
    case KEY_UP:
      first_ -= std::min<size_t>(first_, 1);
      break;
    case KEY_DOWN:
      ++first_;
      break;
    case KEY_PPAGE:
      first_ -= std::min(first_, page);
      break;
    case KEY_NPAGE:
      first_ += page;
      break;
    case KEY_HOME:
      first_ = 0;
      break;
    case 'r':
      order_.reversed = !order_.reversed;
      break;
    case kEscape:
      if (!chooses_) break;
      watch_.reset();
      processes_ = process_table();
      first_ = 0;
      break;
    default:
      if (key > 0 && key < 128 && is_column_key(static_cast<char>(key))) {
        order_ = {static_cast<char>(key)};
        first_ = 0;
      }
  }
}

// So that `kept` is among the `room` rows shown, and no room is left over.
void TopScreen::scroll_to(size_t rows, size_t room, size_t kept) {
  first_ = std::min(first_, rows > room ? rows - room : 0);
  if (kept < first_) first_ = kept;
  if (kept >= first_ + room) first_ = kept - room + 1;
}

void TopScreen::show_processes() {
  std::vector<Line> lines = {{"pktmalloc top: the processes that use pktmalloc", Line::kBold},
                             {kProcessTableHead, Line::kReversed}};
  const size_t height = terminal_->rows();
  const size_t room = height > 4 ? height - 4 : 1;
  const size_t chosen = chosen_row(processes_, chosen_);
  scroll_to(processes_.rows.size(), room, chosen);
  for (size_t row = first_; row < std::min(first_ + room, processes_.rows.size()); ++row) {
    lines.push_back({(row == chosen ? ">" : " ") + processes_.rows[row].text().substr(1),
                     row == chosen ? Line::kBold : Line::kPlain});
  }
  if (processes_.rows.empty()) {
    lines.push_back({"none yet; start one with: pktmalloc run COMMAND"});
  }
  lines.resize(std::max(lines.size(), height - std::min<size_t>(height, 2)));
  const bool refused = message_.empty() && !processes_.refusals.empty();
  lines.push_back({refused ? processes_.refusals[0] : message_, Line::kBold});
  lines.push_back({"Up and Down choose, Enter shows the process, q quits", Line::kReversed});
  terminal_->show(lines);
}

void TopScreen::show_watch() {
  const LiveTable table = live_table(*watch_, order_);
  std::vector<Line> lines;
  for (const std::string& total : table.totals) {
    lines.push_back({total, lines.empty() ? Line::kBold : Line::kPlain});
  }
  lines.push_back({watch_->message(), Line::kBold});
  lines.push_back({table.head, Line::kReversed});
  lines.push_back({table.sum, Line::kBold});
  const size_t height = terminal_->rows();
  const size_t around = lines.size() + 1;
  const size_t room = height > around ? height - around : 1;
  scroll_to(table.rows.size(), room, first_);
  const size_t end = std::min(first_ + room, table.rows.size());
  for (size_t row = first_; row < end; ++row) lines.push_back({table.rows[row]});
  lines.resize(std::max(lines.size(), height - std::min<size_t>(height, 1)));
  lines.push_back(
      {fmt::format(
           "by {}{}; keys c l a f t d s m k p r{}, q quits{}", column_title(order_.key),
           order_.reversed ? ", reversed" : "", chooses_ ? ", Esc back" : "",
           end < table.rows.size() ? fmt::format("; {} more", table.rows.size() - end) : ""),
       Line::kReversed});
  terminal_->show(lines);
}

}  // namespace pktmalloc
