// SPDX-License-Identifier: MIT
#include "tools/command/doctor/bundled_allocator.h"

#include <fmt/core.h>

#include <filesystem>

namespace pktmalloc {
namespace {

constexpr struct {
  const char* name;
  const char* library;     // how the file names of its libraries begin
  const char* symbols[3];  // that no program has without it; nullptr: no more
  const char* message;     // how its messages begin, with {} for its name; nullptr: not known
} kAllocators[] = {
    {"jemalloc", "libjemalloc", {"je_malloc", "_rjem_malloc", "mallocx"}, "<{}>: "},
    {"mimalloc", "libmimalloc", {"mi_malloc", "mi_malloc_small", nullptr}, "{}: error: "},
    {"tcmalloc",
     "libtcmalloc",
     {"tc_malloc", "MallocExtension_ReleaseFreeMemory", nullptr},
     nullptr},
    {"snmalloc", "libsnmalloc", {"sn_malloc", "sn_rust_alloc", nullptr}, nullptr},
    {"rpmalloc", "librpmalloc", {"rpmalloc", "rpmalloc_initialize", nullptr}, nullptr},
    {"scudo", "libscudo", {"__scudo_default_options", "scudo_malloc", nullptr}, nullptr},
    {"hoard", "libhoard", {"xxmalloc", nullptr, nullptr}, nullptr},
    {"the TBB allocator", "libtbbmalloc", {"scalable_malloc", nullptr, nullptr}, nullptr},
    {"hardened_malloc", "libhardened_malloc", {"h_malloc", nullptr, nullptr}, nullptr},
};

// "jemalloc" by its symbols or, where these were stripped or renamed, by its messages; or "".
std::string built_in(const ElfFile& elf) {
  for (const auto& allocator : kAllocators) {
    for (const char* symbol : allocator.symbols) {
      if (symbol != nullptr && elf.symbol(symbol)) return allocator.name;
    }
  }
  for (const auto& allocator : kAllocators) {
    if (allocator.message == nullptr) continue;
    const std::string message = fmt::format(fmt::runtime(allocator.message), allocator.name);
    if (elf.has_text(message)) return allocator.name;
  }
  return "";
}

}  // namespace

std::string allocator_of_library(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename();
  for (const auto& allocator : kAllocators) {
    if (file.starts_with(allocator.library)) return allocator.name;
  }
  return "";
}

Findings examine_bundled_allocator(const ElfFile& elf) {
  Findings all;
  if (elf.symbol("pktmalloc_window")) return all;  // what is built in is ours
  const std::string name = built_in(elf);
  const std::string whose = name.empty() ? "an allocator" : name;
  if (elf.exports("malloc")) {
    all.push_back(
        {Level::kProblem, "allocator",
         fmt::format("It has {} built in, and a program's own malloc comes before that of "
                     "any preloaded library.",
                     whose),
         "Build it with the malloc of libc."});
  } else if (elf.symbol("malloc")) {
    all.push_back(
        {Level::kWarning, "allocator",
         fmt::format("It has {} built in and hidden: the program itself calls that one, "
                     "its libraries would call pktmalloc.",
                     whose),
         "Build it with the malloc of libc, above all if memory passes between the two."});
  } else if (!name.empty()) {
    all.push_back({Level::kWarning, "allocator",
                   fmt::format("It has {} built in under names of its own: what it allocates by "
                               "those does not reach pktmalloc.",
                               name),
                   "Build it with the malloc of libc to have all of it served."});
  }
  for (const std::string& needed : elf.needed()) {
    if (needed.starts_with("libpktmalloc")) {
      all.push_back({Level::kOk, "allocator",
                     "It is linked with libpktmalloc.so; the preloaded one takes its place.", ""});
    }
    const std::string linked = allocator_of_library(needed);
    if (linked.empty()) continue;
    if (elf.imports("mallocx") || elf.imports("sdallocx") || elf.imports("mi_malloc")) {
      all.push_back({Level::kWarning, "allocator",
                     fmt::format("It is linked with {} and calls functions that only {} has: what "
                                 "it allocates by those does not reach pktmalloc.",
                                 needed, linked),
                     "Build it with the malloc of libc to have all of it served."});
    } else {
      all.push_back({Level::kOk, "allocator",
                     fmt::format("It is linked with {}: {} stands behind pktmalloc and serves what "
                                 "that does not pool.",
                                 needed, linked),
                     ""});
    }
  }
  return all;
}

Findings examine_library_allocator(const std::string& path, const ElfFile& library) {
  const std::string itself = allocator_of_library(path);
  if (!itself.empty()) {
    return {{Level::kOk, "allocator",
             fmt::format("{} is in the process: {} stands behind pktmalloc and serves what that "
                         "does not pool.",
                         path, itself),
             ""}};
  }
  const std::string name = built_in(library);
  if (name.empty()) return {};
  return {{Level::kWarning, "allocator",
           fmt::format("Its library {} has {} built in: what that library allocates may not reach "
                       "pktmalloc.",
                       path, name),
           "Use a build of that library with the malloc of libc to have all of it served."}};
}

}  // namespace pktmalloc
