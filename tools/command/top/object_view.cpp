// SPDX-License-Identifier: MIT
#include "tools/command/top/object_view.h"

#include <fmt/core.h>

#include <cstdlib>

#include "tools/command/failure.h"
#include "tools/command/heap/census_table.h"
#include "tools/command/heap/leak_search.h"
#include "tools/command/live/live_totals.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

constexpr double kPauseMs = 5;
constexpr int kShareOfTime = 10;  // one part in so many

std::string change(int64_t by, std::string (*text)(double)) {
  const auto amount = static_cast<double>(std::abs(by));
  return by == 0 ? "=" : (by > 0 ? "+" : "-") + text(amount);
}

}  // namespace

ObjectView::ObjectView(pid_t pid) { begin(pid); }

void ObjectView::begin(pid_t pid) {
  auto subject = std::make_unique<Subject>(std::to_string(pid));
  Inventory seen = look(*subject);
  subject_ = std::move(subject);
  begin_ = at_ = Clock::now();
  now_ = compared(seen.census, seen.census);
  first_ = std::move(seen.census);
  look_ = seen.look;
}

Inventory ObjectView::look(const Subject& subject) {
  const auto begin = Clock::now();
  const auto rest = [&] {
    const auto end = Clock::now();
    next_ = end + (end - begin) * (kShareOfTime - 1);
  };
  try {
    Inventory seen(subject, kPauseMs, false);
    rest();
    return seen;
  } catch (const Failure&) {
    rest();
    throw;
  }
}

void ObjectView::update(bool at_once) {
  if (!at_once && Clock::now() < next_) return;
  try {
    Inventory seen = look(*subject_);
    now_ = compared(first_, std::move(seen.census));
    look_ = seen.look;
    at_ = Clock::now();
    message_.clear();
    return;
  } catch (const Failure& failure) {
    message_ = failure.what();
  }
  try {
    begin(subject_->pid());
    message_.clear();
  } catch (const Failure&) {  // it has told already
  }
}

std::vector<Line> ObjectView::head() const {
  const double seconds = std::chrono::duration<double>(at_ - begin_).count();
  return {{{head_text(*subject_, now_.objects(), now_.bytes()), Style::kBold}},
          {{look_.text()}},
          {{seconds == 0
                ? ""
                : fmt::format("what grew most in {} comes first", duration_text(1e3 * seconds))}},
          {{message_, Style::kBold}},
          {{fmt::format("{:>9}{:>9}{:>10}{:>10}{:>8}  {}", "objects", "bytes", "grown by", "bytes",
                        "size", "type"),
            Style::kReversed}}};
}

std::vector<Line> ObjectView::rows() const {
  std::vector<Count> counts = now_.types;
  sort(counts, CensusOrder::kGrown);
  std::vector<Line> rows;
  for (const Count& c : counts) {
    rows.push_back(
        {{fmt::format("{:>9}{:>9}{:>10}{:>10}{:>8}  {}", count(static_cast<double>(c.objects)),
                      bytes(static_cast<double>(c.bytes)), change(c.grown, count),
                      change(c.grown_bytes, bytes), c.object_bytes, c.type.empty() ? "-" : c.type),
          c.grown > 0 ? Style::kBold : Style::kPlain}});
  }
  return rows;
}

}  // namespace pktmalloc
