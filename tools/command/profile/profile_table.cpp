// SPDX-License-Identifier: MIT
#include "tools/command/profile/profile_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace pktmalloc {
namespace {

// By the text of the stack.
using Sums = std::map<std::string, NamedStack>;

void add(Sums& sums, const HeapProfile& profile, Estimates NamedStack::*amounts,
         Symbolizer& symbolizer) {
  symbolizer.prepare(profile);
  for (const HeapProfile::Place& place : profile.places) {
    std::vector<FrameName> frames = symbolizer.names(profile, place);
    std::string key;
    for (const FrameName& frame : frames) key += frame_text(frame) + '\n';
    NamedStack& stack = sums[key];
    stack.frames = std::move(frames);
    stack.*amounts += place.amounts;
  }
}

std::vector<NamedStack> stacks_of(Sums& sums) {
  std::vector<NamedStack> stacks;
  for (auto& [key, stack] : sums) stacks.push_back(std::move(stack));
  return stacks;
}

}  // namespace

std::vector<NamedStack> named_stacks(const HeapProfile& profile, Symbolizer& symbolizer) {
  Sums sums;
  add(sums, profile, &NamedStack::now, symbolizer);
  return stacks_of(sums);
}

std::vector<NamedStack> compared_stacks(const HeapProfile& before, const HeapProfile& now,
                                        Symbolizer& symbolizer) {
  Sums sums;
  add(sums, now, &NamedStack::now, symbolizer);
  add(sums, before, &NamedStack::before, symbolizer);
  return stacks_of(sums);
}

ProfileTable profile_table(const std::vector<NamedStack>& stacks, Counted counted) {
  ProfileTable table;
  for (const NamedStack& stack : stacks) {
    Estimate change = stack.before[counted];
    change.objects *= -1;
    change.bytes *= -1;
    change += stack.now[counted];
    if (change.objects == 0 && change.bytes == 0) continue;
    table.total += change;
    table.rows.push_back({stack.frames, change});
  }
  std::stable_sort(
      table.rows.begin(), table.rows.end(),
      [](const ProfileRow& a, const ProfileRow& b) { return a.amount.bytes > b.amount.bytes; });
  return table;
}

Counted foremost(const HeapProfile& profile) {
  if (!profile.has(Counted::kPeak)) return Counted::kLive;
  Estimates all;
  for (const HeapProfile::Place& place : profile.places) all += place.amounts;
  return all[Counted::kLive].bytes < all[Counted::kPeak].bytes / 10 ? Counted::kPeak
                                                                    : Counted::kLive;
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
