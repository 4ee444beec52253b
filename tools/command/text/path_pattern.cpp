// SPDX-License-Identifier: MIT
#include "tools/command/text/path_pattern.h"

#include <glob.h>

#include <filesystem>

namespace pktmalloc {

std::string as_pattern(std::string path) {
  for (size_t at = 0; (at = path.find('%', at)) != std::string::npos; at += 2) path.insert(at, "%");
  return path;
}

std::string absolute_pattern(const std::string& pattern) {
  namespace fs = std::filesystem;
  return fs::path(pattern).is_absolute() ? pattern : as_pattern(fs::current_path()) + "/" + pattern;
}

bool names_no_file(const std::string& path) {
  std::error_code ignored;
  const auto found = std::filesystem::symlink_status(path, ignored);
  return std::filesystem::exists(found) && !std::filesystem::is_regular_file(found);
}

std::string with_files_of_children(std::string pattern) {
  if (names_no_file(pattern) || pattern.find("%p") != std::string::npos) return pattern;
  const size_t name = pattern.rfind('/') + 1;
  const size_t ending = pattern.rfind('.');
  const bool has_ending = ending != std::string::npos && ending > name;
  const size_t at = has_ending ? ending : pattern.size();
  return pattern[at - 1] == '%' ? pattern : pattern.insert(at, "%c");
}

std::vector<std::string> paths_of(const std::string& pattern, pid_t pid) {
  std::string wanted;  // for glob(3)
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char letter = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (letter == 'p' && pid != 0) {
      wanted += std::to_string(pid);
    } else if (letter == 'p' || letter == 'n') {
      wanted += "[0-9]*";
    } else if (letter == 'e') {
      wanted += '*';
    } else if (letter == 'c') {
      if (pid == 0) wanted += ".[0-9]*";
    } else {
      wanted += {'\\', pattern[i]};
    }
    if (letter == 'p' || letter == 'n' || letter == 'e' || letter == 'c' || letter == '%') ++i;
  }
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(wanted.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

}  // namespace pktmalloc
