// SPDX-License-Identifier: MIT
#include "tools/command/system/environment.h"

#include <unistd.h>

#include <sstream>

namespace pktmalloc {
namespace {

void add(Environment& environment, const std::string& variable) {
  const size_t equals = variable.find('=');
  if (equals == std::string::npos) return;
  environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
}

}  // namespace

Environment own_environment() {
  Environment environment;
  for (char** variable = environ; *variable != nullptr; ++variable) add(environment, *variable);
  return environment;
}

Environment parse_environment(const std::string& text) {
  Environment environment;
  std::istringstream variables(text);
  for (std::string v; std::getline(variables, v, '\0');) add(environment, v);
  return environment;
}

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::vector<std::string> preloads(const std::string& value) {
  std::vector<std::string> libraries;
  for (size_t at = 0; (at = value.find_first_not_of(" :", at)) != std::string::npos;) {
    const size_t end = std::min(value.find_first_of(" :", at), value.size());
    libraries.push_back(value.substr(at, end - at));
    at = end;
  }
  return libraries;
}

}  // namespace pktmalloc
