// SPDX-License-Identifier: MIT
#include "tools/command/system/allocator.h"

#include <filesystem>
#include <optional>

#include "tools/command/failure.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/library.h"

namespace pktmalloc {
namespace {

namespace fs = std::filesystem;

constexpr LibraryKind kOwnKinds[] = {LibraryKind::kNormal, LibraryKind::kHardened,
                                     LibraryKind::kChecked};

std::string own_name(LibraryKind kind) {
  const std::string word = names_of(kind).word;
  return word.empty() ? "pktmalloc" : "pktmalloc-" + word;
}

// By the names of Debian's packages and of the projects' own installations; the best first.
const struct {
  const char* name;
  std::vector<const char*> files;
} kKnown[] = {
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so"}},
    {"mimalloc", {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"}},
    {"tcmalloc",
     {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so", "libtcmalloc.so"}},
};
const char* const kFolders[] = {"/usr/local/lib", "/usr/lib/" PKTMALLOC_MULTIARCH, "/usr/lib64",
                                "/usr/lib"};

std::optional<Allocator> find_known(const std::string& name) {
  for (const LibraryKind kind : kOwnKinds) {
    if (name == own_name(kind)) return Allocator{name, Library::find(kind).path()};
  }
  for (const auto& known : kKnown) {
    if (name != known.name) continue;
    for (const char* file : known.files) {
      for (const char* folder : kFolders) {
        std::error_code ignored;
        if (fs::exists(fs::path(folder) / file, ignored))
          return Allocator{name, fs::path(folder) / file};
      }
    }
  }
  return std::nullopt;
}

std::string known_names() {
  std::string names = kGlibc;
  for (const auto& known : kKnown) names += std::string(", ") + known.name;
  for (const LibraryKind kind : kOwnKinds) names += ", " + own_name(kind);
  return names;
}

Allocator named(const std::string& name, const std::string& path) {
  if (path.find_first_of(" :") != std::string::npos) {
    throw Failure("{} has a space or colon in its path, which LD_PRELOAD cannot express", path);
  }
  const ElfFile readable(path);
  return {name, fs::absolute(path).lexically_normal()};
}

}  // namespace

std::vector<Allocator> installed_allocators() {
  std::vector<Allocator> all = {{kGlibc, ""}};
  for (const auto& known : kKnown) {
    if (const auto found = find_known(known.name)) all.push_back(*found);
  }
  all.push_back(*find_known(own_name(LibraryKind::kNormal)));
  return all;
}

Allocator find_allocator(const std::string& wanted, const std::string& asker) {
  const size_t equals = wanted.find('=');
  if (equals != std::string::npos && equals > 0) {
    const std::string name = wanted.substr(0, equals);
    if (name == kGlibc) throw Failure("--with {}: glibc is the name of the system's own", wanted);
    return named(name, wanted.substr(equals + 1));
  }
  if (wanted == kGlibc) return {kGlibc, ""};
  if (const auto found = find_known(wanted)) return *found;
  const std::string names = known_names();
  if ((", " + names + ",").find(", " + wanted + ",") != std::string::npos) {
    throw Failure("{} is not installed here; {}=/path/lib.so names its library", wanted, wanted);
  }
  throw Failure("{} is no allocator that {} knows: {}, or NAME=/path/lib.so", wanted, asker, names);
}

}  // namespace pktmalloc
