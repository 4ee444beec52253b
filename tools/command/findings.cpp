// SPDX-License-Identifier: MIT
#include "tools/command/findings.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tools/command/profile/source_lines.h"

namespace pktmalloc {
namespace {

// "    #0  main+0x2a (/bin/app+0x11c5)", without the last closing bracket.
struct Frame {
  std::string call;  // up to the bracket
  std::string file;
  uint64_t address;  // in the call, not behind it
};

std::optional<Frame> read_frame(const std::string& line) {
  constexpr char kPath[] = " (/", kOffset[] = "+0x";
  const size_t path = line.rfind(kPath);
  const size_t offset = line.rfind(kOffset);
  if (line.rfind("    #", 0) != 0 || line.back() != ')' || path == std::string::npos ||
      offset == std::string::npos || offset < path) {
    return {};
  }
  const uint64_t after = strtoull(line.c_str() + offset + sizeof kOffset - 1, nullptr, 16);
  if (after == 0) return {};
  return Frame{line.substr(0, path), line.substr(path + 2, offset - path - 2), after - 1};
}

// What the library says of a function that its file does not name; debug information may.
constexpr std::string_view kUnnamed = "unnamed";

using Lines = std::map<std::pair<std::string, uint64_t>, std::vector<FrameName>>;

Lines lines_of(const std::vector<std::string>& text) {
  std::map<std::string, std::set<uint64_t>> addresses;
  for (const std::string& line : text) {
    if (const auto frame = read_frame(line)) addresses[frame->file].insert(frame->address);
  }
  Lines all;
  for (const auto& [file, once] : addresses) {
    const std::vector<uint64_t> wanted(once.begin(), once.end());
    const auto found = source_lines(file, wanted);
    for (size_t i = 0; i < wanted.size(); ++i) all[{file, wanted[i]}] = found[i];
  }
  return all;
}

// Functions inlined at the place have lines of their own; the function's own line comes last.
void print_line(const std::string& line, const Lines& lines) {
  const auto frame = read_frame(line);
  if (!frame) return fmt::print("{}\n", line);
  const std::vector<FrameName>& names = lines.at({frame->file, frame->address});
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    fmt::print("        {} at {}, inlined in\n", names[i].function, names[i].line);
  }
  if (names.empty() || names.back().line.empty()) return fmt::print("{}\n", line);
  std::string call = frame->call;
  if (call.ends_with(kUnnamed)) {
    call.replace(call.size() - kUnnamed.size(), kUnnamed.size(), names.back().function);
  }
  fmt::print("{} at {}\n", call, names.back().line);
}

// What the library tells begins so, and no statistics do. What is no text may be larger than the
// memory.
bool begins_as_text(std::ifstream& file) {
  char start[4096];
  file.read(start, sizeof start);
  const std::string_view read(start, static_cast<size_t>(file.gcount()));
  file.clear();
  file.seekg(0);
  return !read.starts_with('{') && read.find('\0') == std::string_view::npos;
}

}  // namespace

bool print_findings(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path);
  if (!begins_as_text(file)) return false;
  std::vector<std::string> text;
  bool found = false;
  for (std::string line; std::getline(file, line); text.push_back(line)) {
    found |= read_frame(line).has_value();
  }
  if (!found) return false;
  const Lines lines = lines_of(text);
  for (const std::string& line : text) print_line(line, lines);
  return true;
}

}  // namespace pktmalloc
