// SPDX-License-Identifier: MIT
#include "tools/command/system/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// Real and effective, of the line that begins with the key, "Uid:". False: the process is gone. Not
// those of its folder, which are root's where the process is not dumpable.
bool read_ids(pid_t pid, const char* key, unsigned& real, unsigned& effective) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string word; status >> word;) {
    if (word == key) return static_cast<bool>(status >> real >> effective);
  }
  return false;
}

[[noreturn]] void fail(pid_t pid, int error) {
  if (error == EACCES || error == EPERM) {
    uid_t owner = 0;
    uid_t effective = 0;
    read_ids(pid, "Uid:", owner, effective);
    if (geteuid() != 0 && owner != geteuid()) {
      throw Failure("process {} belongs to another user", pid);
    }
    throw Failure("process {} is protected (not dumpable, more capabilities, or another container)",
                  pid);
  }
  throw Failure("there is no process {}", pid);
}

}  // namespace

std::string Process::file(const std::string& name) const {
  return fmt::format("/proc/{}/{}", pid_, name);
}

std::string Process::name() const {
  std::ifstream comm(file("comm"));
  std::string name;
  if (!std::getline(comm, name)) fail(pid_, errno);
  return name;
}

std::vector<Mapping> Process::mappings() const {
  std::ifstream maps(file("maps"));
  if (!maps) fail(pid_, errno);
  std::vector<Mapping> all;
  for (std::string line; std::getline(maps, line);) {
    Mapping m{};
    int path_at = 0;
    if (sscanf(line.c_str(), "%lx-%lx %*4s %lx %*s %*d %n", &m.start, &m.end, &m.offset,
               &path_at) != 3) {
      continue;
    }
    m.path = line.substr(std::min(static_cast<size_t>(path_at), line.size()));
    all.push_back(std::move(m));
  }
  if (all.empty()) fail(pid_, errno == 0 ? ESRCH : errno);
  return all;
}

uint64_t Process::name_space(const std::string& kind) const {
  struct stat found {};
  if (stat(file("ns/" + kind).c_str(), &found) != 0) fail(pid_, errno);
  return found.st_ino;
}

pid_t Process::innermost_pid() const {
  std::ifstream status(file("status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) == 0) return std::stoi(line.substr(line.find_last_of(" \t") + 1));
  }
  return pid_;
}

Process::User Process::user() const {
  User user{};
  unsigned real = 0;
  if (!read_ids(pid_, "Uid:", real, user.uid) || !read_ids(pid_, "Gid:", real, user.gid)) {
    fail(pid_, ESRCH);
  }
  return user;
}

std::vector<pid_t> readable_processes() {
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    // AT_EACCESS: a capability may be what lets us.
    const std::string memory = entry.path() / "mem";
    if (faccessat(AT_FDCWD, memory.c_str(), R_OK, AT_EACCESS) == 0) pids.push_back(pid);
  }
  return pids;
}

}  // namespace pktmalloc
