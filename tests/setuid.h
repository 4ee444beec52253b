// SPDX-License-Identifier: MIT
// A setuid copy of a program, for tests that run as root and let go of it by setpriv.
#pragma once

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <string>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

// Its path, in the folder, which everybody may enter.
inline std::string setuid_copy(const std::string& program, const TemporaryFolder& folder) {
  struct statvfs mount {};
  statvfs(folder.path().c_str(), &mount);
  if (geteuid() != 0) skip("needs root");
  skip_without({"setpriv"});
  if ((mount.f_flag & ST_NOSUID) != 0) skip("setuid does not hold in " + folder.path());
  const std::string copy = folder / "setuid";
  std::filesystem::copy_file(program, copy);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(chmod(copy.c_str(), 04755) == 0);
  return copy;
}
