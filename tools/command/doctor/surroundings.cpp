// SPDX-License-Identifier: MIT
#include "tools/command/doctor/surroundings.h"

#include <fmt/core.h>
#include <linux/capability.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "sizeclass/heap/heap.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// A number in a file of its own; nothing where there is none, or "max".
std::optional<uint64_t> number_in(const std::string& path) {
  const std::string line = first_line(path);
  char* end = nullptr;
  const uint64_t n = strtoull(line.c_str(), &end, 10);
  if (end == line.c_str()) return std::nullopt;
  return n;
}

// The words behind `name` in the line that begins with it.
std::string field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const size_t value = line.find_first_not_of(": \t", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

// The soft limit; nothing: unlimited.
std::optional<uint64_t> limit(const Process& process, const std::string& name) {
  const std::string value = field(process.file("limits"), name);
  if (value.empty() || value.starts_with("unlimited")) return std::nullopt;
  return strtoull(value.c_str(), nullptr, 10);
}

std::string lift(char option) {
  return fmt::format(
      "Lift the limit (ulimit -{} unlimited), and limit memory by a control group instead.",
      option);
}

// Of a small limit; the twins pool under a small one of data.
Finding pools_nothing(const char* topic, const std::string& limited, char option) {
  return {
      Level::kProblem, topic,
      fmt::format("{} (ulimit -{}): below {} {}.", limited, option, bytes_text(Heap::kFewAddresses),
                  option == 'v' ? "nothing is pooled" : "the normal library pools nothing"),
      lift(option)};
}

Finding address_space(const Process& process) {
  const std::optional<uint64_t> most = limit(process, "Max address space");
  if (!most) return {Level::kOk, "RLIMIT_AS", "Addresses are not limited.", ""};
  const std::string limited = "Addresses are limited to " + bytes_text(*most);
  if (*most < Heap::kFewAddresses) return pools_nothing("RLIMIT_AS", limited, 'v');
  return {Level::kOk, "RLIMIT_AS",
          limited + " (ulimit -v): memory that is mapped counts, including some ahead of use.", ""};
}

Finding data_segment(const Process& process) {
  const std::optional<uint64_t> most = limit(process, "Max data size");
  if (!most) return {Level::kOk, "RLIMIT_DATA", "Data is not limited.", ""};
  const std::string limited = "Data is limited to " + bytes_text(*most);
  if (*most < Heap::kFewAddresses) return pools_nothing("RLIMIT_DATA", limited, 'd');
  return {Level::kWarning, "RLIMIT_DATA",
          limited +
              " (ulimit -d): memory that is committed counts, including some ahead of use, "
              "and beyond the limit malloc fails.",
          lift('d')};
}

Finding locked_memory(const Process& process, bool locks_memory) {
  const std::optional<uint64_t> most = limit(process, "Max locked memory");
  const uint64_t capabilities =
      strtoull(field(process.file("status"), "CapEff:").c_str(), nullptr, 16);
  const bool may_lock = (capabilities >> CAP_IPC_LOCK & 1) != 0;
  if (!most || may_lock) {
    return {Level::kOk, "RLIMIT_MEMLOCK", "Locked memory is not limited.",
            locks_memory ? "What the program locks by mlockall is not given back." : ""};
  }
  if (!locks_memory) {
    return {Level::kOk, "RLIMIT_MEMLOCK",
            fmt::format("Locked memory is limited to {}, which matters to programs that call "
                        "mlockall; this one does not.",
                        bytes_text(*most)),
            ""};
  }
  return {Level::kWarning, "RLIMIT_MEMLOCK",
          fmt::format("Locked memory is limited to {}, and the program can call mlockall: memory "
                      "that is mapped counts, including some ahead of use.",
                      bytes_text(*most)),
          "Lift the limit (ulimit -l unlimited)."};
}

Finding overcommit() {
  const std::string mode = first_line("/proc/sys/vm/overcommit_memory");
  if (mode != "2") {
    return {Level::kOk, "overcommit",
            fmt::format("vm.overcommit_memory is {}: memory counts as it is used.", mode), ""};
  }
  const uint64_t most = strtoull(field("/proc/meminfo", "CommitLimit:").c_str(), nullptr, 10) << 10;
  const uint64_t used = strtoull(field("/proc/meminfo", "Committed_AS:").c_str(), nullptr, 10)
                        << 10;
  const uint64_t left = most > used ? most - used : 0;
  const bool little = left < (uint64_t{256} << 20);
  return {
      little ? Level::kWarning : Level::kOk, "overcommit",
      fmt::format("vm.overcommit_memory is 2 (overcommit_ratio {}): {} of {} are left; memory "
                  "that is mapped counts, including some ahead of use.",
                  first_line("/proc/sys/vm/overcommit_ratio"), bytes_text(left), bytes_text(most)),
      little ? "Raise vm.overcommit_ratio, or add swap." : ""};
}

Finding huge_pages() {
  const std::string modes = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (modes.find("[always]") == std::string::npos) {
    return {Level::kOk, "THP", "Transparent huge pages are not used unasked.", ""};
  }
  return {Level::kOk, "THP",
          "Transparent huge pages are always on: a heap that has grown beyond 8 MiB becomes "
          "resident in steps of 2 MiB.",
          "If that matters: PKTMALLOC_HUGEPAGES=never"};
}

Finding seccomp(const Process& process) {
  if (field(process.file("status"), "Seccomp:") == "0") {
    return {Level::kOk, "seccomp", "No filter of system calls is on.", ""};
  }
  return {Level::kOk, "seccomp", "A filter of system calls is on.",
          "It should allow the calls that docs/security.md lists; without madvise no memory goes "
          "back, without clone3 there is no background thread."};
}

// The least of the limits from the process's control group upwards, of cgroup v2 or v1.
std::optional<uint64_t> control_group_limit(const Process& process) {
  std::optional<uint64_t> least;
  std::ifstream groups(process.file("cgroup"));
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" or "4:memory:/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v1 = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!v1 && !controllers.empty()) continue;
    const std::string root = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
    const char* const file = v1 ? "memory.limit_in_bytes" : "memory.max";
    for (fs::path at = line.substr(second + 1);; at = at.parent_path()) {
      const auto bytes = number_in(root + at.string() + "/" + file);
      // cgroup v1 says "no limit" by a number near 2^63.
      if (bytes && *bytes < (uint64_t{1} << 60)) least = std::min(least.value_or(*bytes), *bytes);
      if (at == at.parent_path()) break;
    }
  }
  return least;
}

Finding container(const Process& process) {
  const std::optional<uint64_t> most = control_group_limit(process);
  if (!most) return {Level::kOk, "container", "No control group limits memory.", ""};
  return {Level::kOk, "container",
          fmt::format("A control group limits memory to {}; what waits to go back counts.",
                      bytes_text(*most)),
          "Should the program come close to it, --age 250ms (PKTMALLOC_AGE) gives memory back "
          "sooner."};
}

Finding mappings(const Environment& environment) {
  constexpr uint64_t kEnough = 65'530;  // the kernel's default; 16,384 guards take two each
  const uint64_t most = number_in("/proc/sys/vm/max_map_count").value_or(kEnough);
  const bool guards =
      value_of(environment, "PKTMALLOC_GUARD").find_first_not_of("0") != std::string::npos;
  if (most >= kEnough || !guards) {
    return {Level::kOk, "max_map_count",
            fmt::format("vm.max_map_count is {}: {}.", most,
                        most >= kEnough ? "enough, also for guards" : "enough without guards"),
            ""};
  }
  return {
      Level::kWarning, "max_map_count",
      fmt::format("vm.max_map_count is {}, and PKTMALLOC_GUARD takes two mappings an object, up "
                  "to 32,768: the program may run out of them.",
                  most),
      "sysctl vm.max_map_count=65530, or run without PKTMALLOC_GUARD."};
}

}  // namespace

Findings examine_surroundings(const Process& process, const Environment& environment,
                              bool locks_memory) {
  return {address_space(process), data_segment(process), locked_memory(process, locks_memory),
          overcommit(),           huge_pages(),          seccomp(process),
          container(process),     mappings(environment)};
}

}  // namespace pktmalloc
