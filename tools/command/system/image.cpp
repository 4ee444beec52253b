// SPDX-License-Identifier: MIT
#include "tools/command/system/image.h"

#include <fmt/core.h>
#include <unistd.h>

#include <climits>

namespace pktmalloc {

// It may live in a container.
std::string RunningImage::file(const std::string& path) const {
  return path == executable() ? process_.executable() : process_.file("root" + path);
}

std::string RunningImage::executable() const {
  char target[PATH_MAX];
  const ssize_t length = readlink(process_.executable().c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

std::string RunningImage::name() const { return fmt::format("process {}", pid_); }

}  // namespace pktmalloc
