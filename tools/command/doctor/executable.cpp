// SPDX-License-Identifier: MIT
#include "tools/command/doctor/executable.h"

#include <elf.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "tools/command/doctor/bundled_allocator.h"
#include "tools/command/doctor/runtime.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {
namespace {

constexpr const char* kLink =
    "Link it with libpktmalloc.so or libpktmalloc.a (README, \"Link\"), or install it without the "
    "privilege.";

std::string machine_name(int machine) {
  switch (machine) {
    case EM_386:
      return "32-bit x86";
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "64-bit ARM";
    case EM_ARM:
      return "32-bit ARM";
    case EM_RISCV:
      return "RISC-V";
    default:
      return fmt::format("machine {}", machine);
  }
}

Finding other_machine(const ElfFile& elf, const Library& library) {
  // x32 programs are of the same machine, with short pointers.
  const bool short_pointers = elf.machine() == library.machine();
  return {Level::kProblem, "machine",
          fmt::format("It is a program for {}{}, the library is for {}: the loader ignores it.",
                      machine_name(elf.machine()), short_pointers ? " with 32-bit pointers" : "",
                      machine_name(library.machine())),
          fmt::format("Use a build of the program for {}.", machine_name(library.machine()))};
}

Finding no_loader(const ElfFile& elf) {
  if (elf.has_section(".go.buildinfo")) {
    return {Level::kProblem, "loader",
            "It is a static Go program: no loader runs that could preload a library, and Go's "
            "runtime has an allocator of its own.",
            "Run it as it is; Go's memory is tuned by GOGC and GOMEMLIMIT."};
  }
  return {Level::kProblem, "loader",
          "It is linked statically: no loader runs that could preload a library.",
          "Link it dynamically, or link libpktmalloc.a into it (README, \"Link\")."};
}

std::optional<Finding> other_loader(const ElfFile& elf) {
  const std::string name = std::filesystem::path(elf.interpreter()).filename();
  if (name.starts_with("ld-musl")) {
    return Finding{
        Level::kProblem, "loader",
        "It is built for musl, whose loader cannot load a library for glibc.",
        "Use a build of the program for glibc, or of the library for musl (docs/machines.md)."};
  }
  std::error_code ignored;
  if (!std::filesystem::exists(elf.interpreter(), ignored)) {
    return Finding{Level::kProblem, "loader",
                   fmt::format("Its loader {} is not on this machine: it cannot start at all.",
                               elf.interpreter()),
                   "Install the C library it was built for."};
  }
  // ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ld64.so.2, ld-2.31.so
  if (name.starts_with("ld-") || name.starts_with("ld64")) return std::nullopt;
  return Finding{Level::kWarning, "loader",
                 fmt::format("Its loader {} is not known as glibc's.", elf.interpreter()),
                 "Start it by pktmalloc run and look by pktmalloc doctor PID."};
}

// The kernel then has the loader ignore LD_PRELOAD (AT_SECURE).
std::optional<Finding> privilege(const std::string& file) {
  struct stat status {};
  struct statvfs mount {};
  if (stat(file.c_str(), &status) != 0) return {};
  if (statvfs(file.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return {};
  const char* what = nullptr;
  bool gains = false;  // this user, from here
  if ((status.st_mode & S_ISUID) != 0) {
    what = "is setuid";
    gains |= status.st_uid != getuid();
  }
  if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP)) {
    what = "is setgid";
    gains |= status.st_gid != getgid();
  }
  if (getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    what = "has file capabilities";
    gains |= getuid() != 0;
  }
  if (what == nullptr) return {};
  if (!gains || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
    return Finding{Level::kWarning, "privilege",
                   fmt::format("It {}: started from here it gains nothing and a preload reaches "
                               "it, but started by other users it ignores LD_PRELOAD.",
                               what),
                   kLink};
  }
  return Finding{Level::kProblem, "privilege",
                 fmt::format("It {}: the loader ignores LD_PRELOAD in programs that gain "
                             "privileges.",
                             what),
                 kLink};
}

std::optional<Finding> sanitizer(const ElfFile& elf) {
  constexpr struct {
    const char *start, *library, *name;
  } kSanitizers[] = {{"__asan_init", "libasan.so", "address sanitizer"},
                     {"__hwasan_init", "libhwasan.so", "hardware address sanitizer"},
                     {"__tsan_init", "libtsan.so", "thread sanitizer"},
                     {"__msan_init", "libmsan.so", "memory sanitizer"},
                     {"__lsan_init", "liblsan.so", "leak sanitizer"}};
  for (const auto& s : kSanitizers) {
    bool found = elf.symbol(s.start).has_value();
    for (const std::string& needed : elf.needed()) found |= needed.starts_with(s.library);
    if (!found) continue;
    return Finding{
        Level::kProblem, "sanitizer",
        fmt::format("It is built with the {}, which must be the malloc of the program.", s.name),
        "Run it without pktmalloc; or build it without the sanitizer, and use pktmalloc "
        "run --checked to find heap errors."};
  }
  return std::nullopt;
}

}  // namespace

Findings examine_executable(const std::string& file, const std::string& name,
                            const Library& library, const Environment& environment) {
  const ElfFile elf(file);
  if (!elf.is_elf()) {
    return {{Level::kWarning, "program", "It is no ELF program; how it starts cannot be told.",
             "Look into it once it runs: pktmalloc doctor PID."}};
  }
  if (elf.machine() != library.machine() || elf.word_class() != library.word_class()) {
    return {other_machine(elf, library)};
  }
  if (elf.symbol("pktmalloc_window")) {
    return {
        {Level::kOk, "program", "pktmalloc is linked into it: it serves without a preload.", ""}};
  }
  if (!elf.has_interpreter()) return {no_loader(elf)};
  Findings all;
  for (const auto& finding : {other_loader(elf), privilege(file), sanitizer(elf)}) {
    if (finding) all.push_back(*finding);
  }
  const bool is_reached = std::none_of(all.begin(), all.end(), [](const Finding& f) {
    return f.topic != "privilege" || f.level == Level::kProblem;
  });
  if (is_reached) {
    all.push_back({Level::kOk, "program",
                   fmt::format("It is a dynamic program for {} and glibc: a preload reaches it.",
                               machine_name(elf.machine())),
                   ""});
  }
  if (elf.imports("dlopen")) {
    all.push_back(
        {Level::kOk, "dlopen",
         "It may load libraries while it runs: dlopen then ignores RTLD_DEEPBIND (README, "
         "\"Limits\").",
         ""});
  }
  append(all, examine_contents(elf, name, environment));
  return all;
}

bool holds_archive(const std::string& file) {
  const ElfFile elf(file);
  return elf.is_elf() && elf.symbol("pktmalloc_window").has_value();
}

Findings examine_contents(const ElfFile& program, const std::string& name,
                          const Environment& environment) {
  Findings all = examine_bundled_allocator(program);
  append(all, examine_runtime(program, name, environment));
  return all;
}

}  // namespace pktmalloc
