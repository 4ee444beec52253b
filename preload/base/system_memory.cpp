// SPDX-License-Identifier: MIT
#include "preload/base/system_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/base/mapping.h"

namespace pktmalloc {
namespace {

constexpr uint64_t kUnknown = ~uint64_t{0};

struct Text {
  char text[4096];

  // An end of line, and as much of the file as fits behind it; no more if there is no such file.
  Text& read(const char* path) {
    size_t held = 0;
    text[held++] = '\n';
    if (const int fd = open(path, O_RDONLY | O_CLOEXEC); fd >= 0) {
      for (ssize_t got; (got = ::read(fd, text + held, sizeof text - 1 - held)) > 0;) {
        held += static_cast<size_t>(got);
      }
      close(fd);
    }
    text[held] = '\0';
    return *this;
  }

  // The number behind the key, which begins with an end of line.
  uint64_t number(const char* key) const {
    const char* const line = strstr(text, key);
    if (line == nullptr) return kUnknown;
    const char* const digits = line + strlen(key);
    char* end;
    const uint64_t n = strtoull(digits, &end, 10);
    return end == digits ? kUnknown : n;  // "max" is no number
  }
};

// The names of the files in a group's folder, and where the hierarchy lies.
struct Version {
  char controllers[8];  // in /proc/self/cgroup
  const char* root;
  const char* limit;
  const char* usage;
  const char* cache;  // in memory.stat
};
constexpr Version kVersions[] = {
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "\ntotal_inactive_file "},
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "\ninactive_file "},
};

// What is looked at. Too large for the stack of a small thread.
struct View {
  Text groups;
  Text file;
  char path[PATH_MAX];

  uint64_t number_in(const Version& version, const char* group, const char* name,
                     const char* key = "\n") {
    const int length = snprintf(path, sizeof path, "%s%s/%s", version.root, group, name);
    if (length < 0 || static_cast<size_t>(length) >= sizeof path) return kUnknown;
    return file.read(path).number(key);
  }

  enum class Ask { kLimit, kLeft };

  // In bytes; kUnknown: the group has no limit.
  uint64_t bytes_of(const Version& version, const char* group, Ask ask) {
    const uint64_t most = number_in(version, group, version.limit);
    if (ask == Ask::kLimit || most == kUnknown) return most;
    const uint64_t usage = number_in(version, group, version.usage);
    if (usage == kUnknown) return kUnknown;
    const uint64_t cache = number_in(version, group, "memory.stat", version.cache);
    const uint64_t used = usage - std::min(usage, cache == kUnknown ? 0 : cache);
    return most - std::min(most, used);
  }

  // In the group, which is changed, and in those above. A container may not see its own folder, but
  // then its hierarchy begins there.
  uint64_t least_up_from(const Version& version, char* group, Ask ask) {
    uint64_t least = bytes_of(version, group, ask);
    while (char* slash = strrchr(group, '/')) {
      *slash = '\0';
      least = std::min(least, bytes_of(version, group, ask));
    }
    return least;
  }

  // Of the machine, by /proc/meminfo, and of all groups.
  uint64_t least(const char* of_machine, Ask ask) {
    const uint64_t kib = file.read("/proc/meminfo").number(of_machine);
    uint64_t least = kib == kUnknown ? kUnknown : kib << 10;
    char* next = groups.read("/proc/self/cgroup").text;
    while (char* group = strsep(&next, "\n")) {
      // "number:controllers:group"; version 2 has number 0 and no controllers.
      strsep(&group, ":");
      const char* const controllers = strsep(&group, ":");
      if (group == nullptr) continue;
      for (const Version& version : kVersions) {
        if (strcmp(controllers, version.controllers) != 0) continue;
        least = std::min(least, least_up_from(version, group, ask));
      }
    }
    return least;
  }
};

}  // namespace

uint64_t available_memory() {
  const Mapped<View> view;
  if (!view) return 0;
  const uint64_t of_system = view->least("\nMemAvailable:", View::Ask::kLeft);
  const Text& own = view->file.read("/proc/self/status");
  const auto left = [&](__rlimit_resource limit, const char* key) {
    const uint64_t most = at_most(kUnknown, limit, 1);
    return most - std::min(most, own.number(key) << 10);
  };
  return std::min({of_system, left(RLIMIT_AS, "\nVmSize:"), left(RLIMIT_DATA, "\nVmData:")});
}

uint64_t total_memory() {
  const Mapped<View> view;
  return view ? view->least("\nMemTotal:", View::Ask::kLimit) : kUnknown;
}

}  // namespace pktmalloc
