// SPDX-License-Identifier: MIT
// Words as a POSIX shell reads them.
#pragma once

#include <string>
#include <vector>

namespace pktmalloc {

// The word in quotes, if it needs any or they are wanted.
inline std::string shell_word(const std::string& word, bool in_quotes = false) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
  const bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  if (is_plain && !in_quotes) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// A command with its arguments.
inline std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool sets = line.empty() && word.find('=') != std::string::npos;  // a variable, if bare
    line += (line.empty() ? "" : " ") + shell_word(word, sets);
  }
  return line;
}

}  // namespace pktmalloc
