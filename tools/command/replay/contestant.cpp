// SPDX-License-Identifier: MIT
#include "tools/command/replay/contestant.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGlibc = "glibc";

struct Known {
  std::string name;
  std::vector<std::string> files;
};

const std::vector<Known>& known() {
  static const std::vector<Known> all = {
      {"jemalloc", {"libjemalloc.so.2"}},
      {"mimalloc", {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"}},
      {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}},
      {"pktmalloc", {"libpktmalloc.so"}}};
  return all;
}

// "" when it is not on this machine. Ours beside this command, or in the lib folder next to its
// bin, before any other.
std::string library_of(const Known& allocator) {
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const std::string& file : allocator.files) {
    for (const fs::path& folder :
         {here, here / "../lib", fs::path("/usr/local/lib"), fs::path("/usr/lib/x86_64-linux-gnu"),
          fs::path("/usr/lib64"), fs::path("/usr/lib")}) {
      if (fs::exists(folder / file, ignored)) return fs::canonical(folder / file, ignored);
    }
  }
  return "";
}

Contestant named(const std::string& wanted) {
  const size_t equals = wanted.find('=');
  if (equals != std::string::npos) {
    const std::string path = wanted.substr(equals + 1);
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) throw Failure("there is no library {}", path);
    const std::string library = fs::canonical(path);
    if (library.find_first_of(" :") != std::string::npos) {
      throw Failure("{} has a space or colon in its path, which LD_PRELOAD cannot express",
                    library);
    }
    return {wanted.substr(0, equals), library};
  }
  if (wanted == kGlibc) return {kGlibc, ""};
  for (const Known& allocator : known()) {
    if (allocator.name != wanted) continue;
    const std::string library = library_of(allocator);
    if (!library.empty()) return {wanted, library};
    throw Failure("{} is not installed here; {}=/path/lib.so names its library", wanted, wanted);
  }
  throw Failure(
      "{} is no allocator that replay knows: glibc, jemalloc, mimalloc, tcmalloc, pktmalloc, or "
      "NAME=/path/lib.so",
      wanted);
}

}  // namespace

std::vector<Contestant> contestants(const std::vector<std::string>& wanted) {
  std::vector<Contestant> all;
  for (const std::string& name : wanted) all.push_back(named(name));
  if (!wanted.empty()) return all;
  all.push_back({kGlibc, ""});
  for (const Known& allocator : known()) {
    const std::string library = library_of(allocator);
    if (!library.empty()) all.push_back({allocator.name, library});
  }
  return all;
}

void check_preloaded(const std::string& library) {
  if (library.empty()) return;
  struct stat wanted;
  if (stat(library.c_str(), &wanted) != 0) throw Failure("{}: {}", library, strerror(errno));
  FILE* const maps = fopen("/proc/self/maps", "r");
  bool found = false;
  char line[8192];
  while (maps != nullptr && !found && fgets(line, sizeof line, maps) != nullptr) {
    unsigned long inode = 0;
    found = sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode == wanted.st_ino;
  }
  if (maps != nullptr) fclose(maps);
  if (!found) throw Failure("{} cannot be preloaded", library);
}

}  // namespace pktmalloc
