// SPDX-License-Identifier: MIT
#include "tools/command/doctor/maintainer_report.h"

#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "preload/contract/pktmalloc.h"
#include "preload/contract/pktmalloc_path.hpp"
#include "preload/formats/heap_profile.h"
#include "preload/formats/live_window.h"
#include "preload/formats/recording_format.h"
#include "preload/formats/statistics.h"
#include "preload/formats/trace_format.h"
#include "tools/command/doctor/presence.h"
#include "tools/command/doctor/surroundings.h"
#include "tools/command/failure.h"
#include "tools/command/system/library.h"
#include "tools/command/text/printable.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

// What stands behind the name and `between` in the file's first line of that name.
std::string value_in(const std::string& path, const std::string& name, char between) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t end = line.find(between);
    if (!line.starts_with(name) || end == std::string::npos) continue;
    const size_t value = line.find_first_not_of(" \t\"", end + 1);
    return value == std::string::npos ? "" : line.substr(value, line.find('"', value) - value);
  }
  return "unknown";
}

std::string versions() {
  return fmt::format(
      "{}; header schema {}, window {}, statistics {}, heap profile {}, trace {}, recording {}",
      PKTMALLOC_VERSION, contract::kSchema, kWindowSchema, kStatisticsSchema, kProfileSchema,
      trace::kVersion, recording::kVersion);
}

std::string library_of(const Process& process) {
  const auto presence = find_presence(process);
  if (!presence) return "not in this process";
  const Window& w = presence->window;
  const std::string kind = names_of(w.library).word;
  if (w.magic != kWindowMagic) return "in this process, not started or not to be read";
  return fmt::format(
      "{} {}, {}; {} objects of {} classes were handed out", kind.empty() ? "plain" : kind,
      w.version, presence->linked ? "linked" : "loaded", presence->allocated, presence->classes);
}

// Without what the loader says, which has paths.
std::string libraries_here() {
  std::string all;
  for (const auto kind : {LibraryKind::kNormal, LibraryKind::kHardened, LibraryKind::kChecked}) {
    all += fmt::format("{}{} ", all.empty() ? "" : ", ", names_of(kind).file);
    try {
      all += Library::find(kind).objection({}).empty() ? "loads" : "does not load";
    } catch (const Failure&) {
      all += "is not here";
    }
  }
  return all;
}

std::string preloaded(const Environment& environment) {
  std::string ours;
  size_t others = 0;
  for (const std::string& path : preloads(value_of(environment, "LD_PRELOAD"))) {
    if (is_our_library(path)) {
      ours += std::filesystem::path(path).filename().string() + ", ";
    } else {
      ++others;
    }
  }
  return fmt::format("{}{} other{}", ours, others, others == 1 ? "" : "s");
}

constexpr struct {
  std::string_view name, accepted;
} kOptions[] = {
#define OPTION(name, library, run, field, value, default_value, accepted, help) \
  {"PKTMALLOC_" #name, accepted},
#include "preload/formats/options.def"
};

// As it is set, unless it may be a path.
std::string shown(const std::string& name, const std::string& value) {
  const auto option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const auto& o) { return o.name == name; });
  if (option == std::end(kOptions)) return "(no option of this version)";
  const bool word = value.find_first_not_of(
                        "0123456789abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ%,:_") == std::string::npos;
  const bool path = option->accepted.find("path") != std::string_view::npos;
  const bool ordinary = value == "0" || value == "1" || value == "default" || value == "mimalloc";
  return word && (!path || ordinary) ? value : "(not shown)";
}

std::string options_in(const Environment& environment) {
  std::string all;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("PKTMALLOC_")) continue;
    all += fmt::format("{}{}={}", all.empty() ? "" : ", ", name, shown(name, value));
  }
  return all.empty() ? "none" : all;
}

std::string kernel() {
  utsname system;
  uname(&system);
  return fmt::format("{} {} {}", system.sysname, system.release, system.machine);
}

std::string ram() {
  const auto bytes = [](const char* name) {
    const uint64_t kib = std::strtoull(value_in("/proc/meminfo", name, ':').c_str(), nullptr, 10);
    return bytes_text(kib << 10);
  };
  return fmt::format("{}, swap {}", bytes("MemTotal"), bytes("SwapTotal"));
}

std::string huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return modes.empty() ? "unknown" : modes;
}

}  // namespace

std::string maintainer_report(const Process& process, const Environment& environment) {
  const bool own = process.pid() == getpid();
  std::vector<std::pair<std::string, std::string>> lines = {
      {"pktmalloc", versions()},
      {"library", own ? libraries_here() : library_of(process)},
      {"LD_PRELOAD", preloaded(environment)},
      {"options", options_in(environment)},
      {"kernel", kernel()},
      {"system", value_in("/etc/os-release", "PRETTY_NAME", '=')},
      {"libc", fmt::format("glibc {}", gnu_get_libc_version())},
      {"processor", value_in("/proc/cpuinfo", "model name", ':')},
      {"processors",
       fmt::format("{} of {}", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF))},
      {"page size", std::to_string(sysconf(_SC_PAGESIZE))},
      {"memory", ram()},
      {"huge pages", huge_pages()},
  };
  for (const Finding& f : examine_surroundings(process, environment, false)) {
    lines.emplace_back(f.topic, f.says);
  }
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{:<16}{}\n", name, printable(value));
  return text;
}

}  // namespace pktmalloc
