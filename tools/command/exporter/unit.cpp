// SPDX-License-Identifier: MIT
#include "tools/command/exporter/unit.h"

#include <fstream>
#include <sstream>

namespace pktmalloc {
namespace {

// The path of the process's group: that of version 2, or the one in which systemd keeps its units
// under version 1.
std::string group_path(const std::string& groups) {
  std::istringstream lines(groups);
  std::string path;
  for (std::string line; std::getline(lines, line);) {
    const size_t controllers = line.find(':');
    const size_t at = line.find(':', controllers + 1);
    if (controllers == std::string::npos || at == std::string::npos) continue;
    const std::string name = line.substr(controllers + 1, at - controllers - 1);
    if (name == "name=systemd") return line.substr(at + 1);
    if (name.empty()) path = line.substr(at + 1);
  }
  return path;
}

}  // namespace

// A user's service lies below the service of that user's manager: the innermost counts.
std::string unit_in(const std::string& groups) {
  std::string service;
  std::string scope;
  std::string last;
  std::istringstream parts(group_path(groups));
  for (std::string part; std::getline(parts, part, '/');) {
    if (part.empty()) continue;
    if (part.ends_with(".service")) service = part;
    if (part.ends_with(".scope")) scope = part;
    last = part;
  }
  // A scope below a service is a container that it started.
  if (!scope.empty() && (service.empty() || service.starts_with("user@"))) return scope;
  return service.empty() ? last : service;
}

std::string unit_of(const Process& process) {
  std::ifstream file(process.file("cgroup"));
  std::string groups;
  for (std::string line; std::getline(file, line);) groups += line + "\n";
  return unit_in(groups);
}

}  // namespace pktmalloc
