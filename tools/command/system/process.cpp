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
#include <optional>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// Not that of its folder, which is root's where the process is not dumpable.
uid_t owner(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  uid_t uid = 0;
  for (std::string word; status >> word;) {
    if (word == "Uid:" && status >> uid) return uid;
  }
  return uid;
}

[[noreturn]] void fail(pid_t pid, int error) {
  if (error == EACCES || error == EPERM) {
    if (geteuid() != 0 && owner(pid) != geteuid()) {
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
  std::ifstream status(file("status"));
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  for (std::string line; std::getline(status, line);) {
    unsigned effective = 0;
    if (sscanf(line.c_str(), "Uid: %*u %u", &effective) == 1) uid = effective;
    if (sscanf(line.c_str(), "Gid: %*u %u", &effective) == 1) gid = effective;
  }
  if (!uid || !gid) fail(pid_, ESRCH);
  return {*uid, *gid};
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
