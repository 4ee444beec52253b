// SPDX-License-Identifier: MIT
#include "tools/command/replay/preloaded.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/command/failure.h"

namespace pktmalloc {

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
