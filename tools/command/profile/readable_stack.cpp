// SPDX-License-Identifier: MIT
#include "tools/command/profile/readable_stack.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace pktmalloc {
namespace {

// Libraries that wrote schema 1 recorded 32, and left out one or two of their own.
constexpr size_t kRecordedLeast = 30;

// "std::vector::push_back" of "void std::vector<int, std::allocator<int> >::push_back(int)".
std::string qualified_name(const std::string& function) {
  std::string name;
  int depth = 0;  // of template arguments
  for (const char c : function) {
    if (c == '(' && depth == 0) break;
    if (c == '>') --depth;
    if (depth == 0 && c != '<' && c != '>') name += c;
    if (c == '<') ++depth;
  }
  const size_t space = name.find_last_of(' ');
  return space == std::string::npos ? name : name.substr(space + 1);
}

bool is_standard(const FrameName& frame) {
  const std::string name = qualified_name(frame.function);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

// Where the stacks of processes and threads begin.
bool is_beginning(const std::string& function) {
  static const char* const kNames[] = {"_start", "clone", "__clone", "clone3", "__clone3"};
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

}  // namespace

void fold_standard_library(std::vector<FrameName>& frames) {
  std::vector<FrameName> kept;
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool is_inner =
        i + 1 < frames.size() && is_standard(frames[i]) && is_standard(frames[i + 1]);
    if (!is_inner) kept.push_back(std::move(frames[i]));
  }
  frames = std::move(kept);
}

bool looks_cut_off(const std::vector<FrameName>& frames, size_t recorded) {
  return recorded >= kRecordedLeast && !frames.empty() && !is_beginning(frames.back().function);
}

}  // namespace pktmalloc
