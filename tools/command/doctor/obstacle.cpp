// SPDX-License-Identifier: MIT
#include "tools/command/doctor/obstacle.h"

#include <unistd.h>

#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/surroundings.h"
#include "tools/command/system/environment.h"

namespace pktmalloc {

std::optional<Finding> find_obstacle(const std::string& file, const Library& library) {
  const Environment environment = own_environment();
  Findings all = examine_executable(file, file, library, environment);
  append(all, examine_surroundings(Process(getpid()), environment, false));
  for (const Finding& f : all) {
    if (f.level == Level::kProblem) return f;
  }
  return std::nullopt;
}

}  // namespace pktmalloc
