// SPDX-License-Identifier: MIT
#include "tools/command/doctor/running.h"

#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "preload/contract/pktmalloc.h"
#include "tools/command/doctor/bundled_allocator.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/presence.h"
#include "tools/command/failure.h"
#include "tools/command/live/live_call.h"
#include "tools/command/system/control_socket.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/library.h"
#include "tools/command/system/link_map.h"

namespace pktmalloc {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool gained_privileges(const Process& process) {
  std::istringstream entries(read(process.file("auxv")));
  for (Elf64_auxv_t e; entries.read(reinterpret_cast<char*>(&e), sizeof e);) {
    if (e.a_type == AT_SECURE) return e.a_un.a_val != 0;
  }
  return false;
}

// What the loader of a process has loaded, in the order of look-up.
struct Loaded {
  std::string owner_of_malloc;  // the first that has a malloc for others; "" when none is seen
  Findings allocators;          // in libraries, but for those that the program names itself
};

// The loader keeps a path as it was given: from the folder of the start, which may be left.
std::string whole_path(const Process& process, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::string end = std::filesystem::path(path).lexically_normal();
  while (end.starts_with("../")) end.erase(0, 3);
  const std::vector<Mapping> all = process.mappings();
  const auto mapped = std::find_if(all.begin(), all.end(),
                                   [&](const Mapping& m) { return m.path.ends_with("/" + end); });
  return mapped != all.end() ? mapped->path : path;
}

Loaded loaded(const Process& process) {
  Loaded all;
  std::vector<std::string> named;
  for (const std::string& as_given : loaded_objects(process)) {
    const std::string path = whole_path(process, as_given);
    if (path.empty()) continue;
    const bool program = path == process.executable();
    try {
      const ElfFile file(program ? path : process.file("root") + path);
      if (!file.is_elf()) continue;
      if (all.owner_of_malloc.empty() && file.exports("malloc")) {
        all.owner_of_malloc = program ? std::string(std::filesystem::read_symlink(path)) : path;
      }
      const std::string name = std::filesystem::path(path).filename();
      if (program) {
        named = file.needed();
      } else if (path != all.owner_of_malloc && !is_our_library(path) &&
                 std::find(named.begin(), named.end(), name) == named.end()) {
        append(all.allocators, examine_library_allocator(path, file));
      }
    } catch (const Failure&) {
      continue;  // the kernel's own object, or a file that was removed
    }
  }
  return all;
}

Finding owner(const Presence& presence, const std::string& path) {
  // A static program has no loader to ask, and one malloc.
  if (path.empty() && !presence.linked) {
    return {Level::kWarning, "malloc", "Whose malloc it calls cannot be told.",
            "Look again once it has started."};
  }
  std::error_code ignored;
  if (path.empty() || is_our_library(path) ||
      std::filesystem::equivalent(path, presence.path, ignored)) {
    return {Level::kOk, "malloc", "Its malloc is that of pktmalloc.", ""};
  }
  return {Level::kProblem, "malloc",
          fmt::format("Its malloc is that of {}, which stands before pktmalloc.", path),
          "Name libpktmalloc.so first in LD_PRELOAD (pktmalloc run does); if it is the program's "
          "own malloc, build it with that of libc."};
}

Finding service(const Presence& presence) {
  const Window& w = presence.window;
  if (!presence.unreadable.empty()) {
    return {Level::kWarning, "serving",
            fmt::format("Whether it serves cannot be seen: {}.", presence.unreadable),
            "Look as the user who runs it, or as root."};
  }
  if (w.magic != kWindowMagic) {
    return {Level::kProblem, "serving", "The library has not started: nothing asked it for memory.",
            "See whose malloc the program calls; if it only began, look again."};
  }
  if (w.schema != kWindowSchema) {
    return {Level::kWarning, "serving",
            fmt::format("The library is version {}, this command {}: it cannot read its counters.",
                        w.version, PKTMALLOC_VERSION),
            "Use the command that was installed with the library."};
  }
  if (w.heap.classes == 0) {
    return {Level::kProblem, "serving",
            "The library has too few addresses: it passes every request to the next allocator.",
            "Start the program without a limit of addresses below 512 MiB (ulimit -v)."};
  }
  if (presence.allocated == 0) {
    return {Level::kWarning, "serving", "The library has started, and has handed out nothing yet.",
            "Look again once the program works."};
  }
  return {Level::kOk, "serving",
          fmt::format("It serves: {} objects of {} classes were handed out so far.",
                      presence.allocated, presence.classes),
          ""};
}

std::string whom_it_obeys(const Process& process) {
  if (is_controlled(process)) return "It obeys pktmalloc tell, of its user and of root.";
  if (control_of(process) == "never") return "It obeys nobody: PKTMALLOC_CONTROL=never.";
  const std::string objection = objection_to_call(process);
  if (!objection.empty()) return fmt::format("It cannot be told anything: {}.", objection);
  return "It will obey pktmalloc tell, of whoever may trace it, once a thread asks for memory.";
}

Findings absent(const Process& process, const Environment& environment) {
  Findings all;
  bool wanted = false;
  for (const std::string& path : preloads(value_of(environment, "LD_PRELOAD"))) {
    wanted |= is_our_library(path);
  }
  all.push_back({Level::kProblem, "library",
                 wanted ? "LD_PRELOAD names pktmalloc, but it is not in this process."
                        : "pktmalloc is not in this process.",
                 wanted ? "Look at the points that follow, and whether the file is still there."
                        : "Start it by: pktmalloc run CMD"});
  try {
    const Loaded libraries = loaded(process);
    if (!libraries.owner_of_malloc.empty()) {
      all.push_back({Level::kOk, "malloc",
                     fmt::format("Its malloc is that of {}.", libraries.owner_of_malloc), ""});
    }
    append(all, libraries.allocators);
  } catch (const Failure&) {  // its memory may not be read, where its files may
  }
  if (gained_privileges(process)) {
    all.push_back({Level::kProblem, "privilege",
                   "It gained privileges when it started: the loader ignores LD_PRELOAD then.",
                   "Link it with libpktmalloc.so or libpktmalloc.a (README, \"Link\")."});
  }
  try {
    append(all,
           examine_executable(process.executable(), process.name(), Library::find(), environment));
  } catch (const Failure& failure) {
    all.push_back({Level::kWarning, "program",
                   fmt::format("The program cannot be looked at: {}.", failure.what()),
                   "Look as the user who runs it, or as root."});
  }
  return all;
}

}  // namespace

Environment environment_of(const Process& process) {
  return parse_environment(read(process.file("environ")));
}

Findings examine_running(const Process& process, const Environment& environment) {
  const auto presence = find_presence(process);
  if (!presence) return absent(process, environment);
  Findings all;
  const char* const version =
      presence->window.magic == kWindowMagic ? presence->window.version : "";
  const std::string kind = remark(presence->window.library);
  all.push_back(
      {Level::kOk, "library",
       fmt::format("pktmalloc {}{} {} {}.", version, kind.empty() ? kind : kind + ",",
                   presence->linked ? "is linked into" : "is loaded from", presence->path),
       ""});
  if (presence->replaced) {
    all.push_back({Level::kWarning, "library", "Its file was replaced since the program started.",
                   "Restart the program to have the new one."});
  }
  all.push_back(service(*presence));
  if (presence->unreadable.empty()) {
    const Loaded libraries = loaded(process);
    all.push_back(owner(*presence, libraries.owner_of_malloc));
    append(all, libraries.allocators);
  }
  const Window& w = presence->window;
  if (w.schema == kWindowSchema && w.deep_bindings > 0) {
    all.push_back({Level::kOk, "dlopen",
                   fmt::format("It asked dlopen for RTLD_DEEPBIND, which was ignored {} time{} "
                               "(README, \"Limits\").",
                               w.deep_bindings, w.deep_bindings == 1 ? "" : "s"),
                   ""});
  }
  all.push_back({Level::kOk, "control", whom_it_obeys(process), ""});
  const ElfFile program(process.executable());
  append(all, examine_contents(program, process.name(), environment));
  return all;
}

}  // namespace pktmalloc
