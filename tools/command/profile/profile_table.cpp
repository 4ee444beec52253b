// SPDX-License-Identifier: MIT
#include "tools/command/profile/profile_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace pktmalloc {
namespace {

// By the text of the stack.
using Sums = std::map<std::string, ProfileRow>;

void add(Sums& sums, const HeapProfile& profile, Counted counted, double sign,
         Symbolizer& symbolizer) {
  symbolizer.prepare(profile);
  for (const HeapProfile::Place& place : profile.places) {
    Estimate amount = counted == Counted::kLive ? place.live : place.all;
    if (amount.objects == 0) continue;
    std::vector<FrameName> frames = symbolizer.names(profile, place.frames);
    std::string key;
    for (const FrameName& frame : frames) key += frame_text(frame) + '\n';
    amount.objects *= sign;
    amount.bytes *= sign;
    ProfileRow& row = sums[key];
    row.frames = std::move(frames);
    row.amount += amount;
  }
}

ProfileTable sorted(Sums& sums) {
  ProfileTable table;
  for (auto& [key, row] : sums) {
    if (row.amount.objects == 0 && row.amount.bytes == 0) continue;
    table.total += row.amount;
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(
      table.rows.begin(), table.rows.end(),
      [](const ProfileRow& a, const ProfileRow& b) { return a.amount.bytes > b.amount.bytes; });
  return table;
}

}  // namespace

ProfileTable profile_table(const HeapProfile& profile, Counted counted, Symbolizer& symbolizer) {
  Sums sums;
  add(sums, profile, counted, 1, symbolizer);
  return sorted(sums);
}

ProfileTable profile_growth(const HeapProfile& before, const HeapProfile& after, Counted counted,
                            Symbolizer& symbolizer) {
  Sums sums;
  add(sums, after, counted, 1, symbolizer);
  add(sums, before, counted, -1, symbolizer);
  return sorted(sums);
}

std::string frame_text(const FrameName& frame) {
  if (!frame.line.empty()) return fmt::format("{} at {}", frame.function, frame.line);
  // An unknown function is called by its module.
  if (frame.module.empty() || frame.function.rfind(frame.module + '+', 0) == 0)
    return frame.function;
  return fmt::format("{} ({})", frame.function, frame.module);
}

std::string collapsed_stacks(const ProfileTable& table) {
  std::map<std::string, double> stacks;
  for (const ProfileRow& row : table.rows) {
    std::string stack;
    for (auto frame = row.frames.rbegin(); frame != row.frames.rend(); ++frame) {
      std::string name = frame->function;
      std::replace(name.begin(), name.end(), ';', ':');
      stack += (stack.empty() ? "" : ";") + name;
    }
    stacks[stack] += row.amount.bytes;
  }
  std::string text;
  for (const auto& [stack, bytes] : stacks) text += fmt::format("{} {:.0f}\n", stack, bytes);
  return text;
}

}  // namespace pktmalloc
