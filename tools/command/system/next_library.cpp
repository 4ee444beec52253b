// SPDX-License-Identifier: MIT
#include "tools/command/system/next_library.h"

#include <unistd.h>

#include <filesystem>

#include "tools/command/failure.h"
#include "tools/command/system/elf_file.h"

namespace pktmalloc {
namespace {

constexpr struct {
  const char *name, *file, *package;
} kKnown[] = {{"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
              {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"}};

std::string installed(const std::string& file, const std::string& package) {
  for (const char* folder : {"/usr/local/lib/", "/usr/lib/" PKTMALLOC_MULTIARCH "/", "/usr/lib/"}) {
    if (access((folder + file).c_str(), R_OK) == 0) return folder + file;
  }
  throw Failure("there is no {} on this machine; Debian's package is {}", file, package);
}

NextLibrary at_path(const std::string& path) {
  const std::string absolute = std::filesystem::absolute(path).lexically_normal();
  const ElfFile file(absolute);
  if (file.is_elf() && file.exports("mi_malloc")) return {absolute, ""};
  if (!file.is_elf() || !file.exports("malloc")) throw Failure("{} is not an allocator", path);
  if (absolute.find_first_of(" :") != std::string::npos) {
    throw Failure("{} has a space or colon in its path, which LD_PRELOAD cannot express", absolute);
  }
  return {"", absolute};
}

}  // namespace

NextLibrary find_next_library(const std::string& name) {
  if (name.empty() || name == "default" || name == "mimalloc") return {name, ""};
  if (name.find('/') != std::string::npos) return at_path(name);
  for (const auto& known : kKnown) {
    if (name == known.name) return {"", installed(known.file, known.package)};
  }
  throw Failure("--next {} is not known; accepted: default, mimalloc, jemalloc, tcmalloc or a path",
                name);
}

}  // namespace pktmalloc
