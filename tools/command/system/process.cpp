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
#include <iterator>
#include <limits>
#include <sstream>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

// What /proc/PID/status tells in the line that begins with the key, "Uid:"; nothing where there is
// none, or the process is gone. The same word elsewhere may be the name that a process gave itself.
std::istringstream status_of(pid_t pid, const std::string& key) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::istringstream(line.substr(key.size()));
  }
  return {};
}

// Real and effective; false: the process is gone. Not those of its folder, which are root's where
// the process is not dumpable.
bool read_ids(pid_t pid, const char* key, unsigned& real, unsigned& effective) {
  return static_cast<bool>(status_of(pid, key) >> real >> effective);
}

// Of /proc/PID/stat, by their numbers in proc(5); none where the process is gone.
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // The name may hold spaces, but is the last in brackets.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::vector<std::string> fields(Process::kState);
  std::istringstream rest(text.substr(name_end + 1));
  fields.insert(fields.end(), std::istream_iterator<std::string>(rest), {});
  return fields;
}

// The program of a `pktmalloc run` that waits for it; the process itself where it is none.
pid_t waited_for(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string command;
  std::string subcommand;
  std::getline(file, command, '\0');
  std::getline(file, subcommand, '\0');
  if (std::filesystem::path(command).filename() != "pktmalloc" || subcommand != "run") return pid;
  // The first of its children, for others may have come to it when their parents ended.
  pid_t program = pid;
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (const pid_t other : readable_processes()) {
    const std::vector<std::string> fields = stat_fields(other);
    if (fields.empty() || fields[Process::kParent] != std::to_string(pid)) continue;
    const uint64_t start = std::stoull(fields[Process::kStart]);
    if (start < first) program = other;
    first = std::min(first, start);
  }
  return program;
}

}  // namespace

void Process::fail(int error) const {
  const std::vector<std::string> fields = stat_fields(pid_);
  if (fields.empty()) throw Failure("there is no process {}", named_);
  if (fields[kState] == "Z" && fields[kThreads] == "1") {
    throw Failure("process {} has ended; its parent has not asked for its status yet", named_);
  }
  if (error == EACCES || error == EPERM) {
    uid_t owner = 0;
    uid_t effective = 0;
    read_ids(pid_, "Uid:", owner, effective);
    if (geteuid() != 0 && owner != geteuid()) {
      throw Failure("process {} belongs to another user", named_);
    }
    throw Failure("process {} is protected (not dumpable, more capabilities, or another container)",
                  named_);
  }
  throw Failure("process {} has no program: it just ends, or is the system's own", named_);
}

std::string Process::file(const std::string& name) const {
  return fmt::format("/proc/{}/{}", thread(), name);
}

pid_t Process::thread() const {
  std::error_code ignored;
  const std::string tasks = fmt::format("/proc/{}/task", pid_);
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream maps(task.path() / "maps");
    if (maps.peek() != std::ifstream::traits_type::eof()) return std::stoi(task.path().filename());
  }
  return pid_;
}

std::string Process::name() const {
  std::ifstream comm(fmt::format("/proc/{}/comm", pid_));
  std::string name;
  if (!std::getline(comm, name)) fail(errno);
  return name;
}

std::vector<Mapping> mappings_in(std::istream& maps) {
  std::vector<Mapping> all;
  for (std::string line; std::getline(maps, line);) {
    Mapping m{};
    char rights[5] = "";
    int path_at = 0;
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*d %n", &m.start, &m.end, rights, &m.offset,
               &path_at) != 4) {
      continue;
    }
    m.readable = rights[0] == 'r';
    m.writable = rights[1] == 'w';
    m.executable = rights[2] == 'x';
    m.shared = rights[3] == 's';
    m.path = line.substr(std::min(static_cast<size_t>(path_at), line.size()));
    all.push_back(std::move(m));
  }
  return all;
}

// A process that becomes another program is without them for a moment. One that has ended, or is
// the system's own, has no program either.
std::vector<Mapping> Process::mappings() const {
  for (unsigned tries = 0; tries < 20; ++tries) {
    std::ifstream maps(file("maps"));
    if (!maps) fail(errno);
    std::vector<Mapping> all = mappings_in(maps);
    if (!all.empty()) return all;
    if (access(executable().c_str(), F_OK) != 0) break;
    usleep(1000);
  }
  fail(ESRCH);
}

uint64_t Process::name_space(const std::string& kind) const {
  struct stat found {};
  if (stat(file("ns/" + kind).c_str(), &found) != 0) fail(errno);
  return found.st_ino;
}

bool Process::shares(const std::string& kind) const {
  return name_space(kind) == Process(getpid()).name_space(kind);
}

pid_t Process::leader() const {
  pid_t leader = pid_;
  status_of(pid_, "Tgid:") >> leader;
  return leader;
}

bool Process::is_traced() const {
  pid_t tracer = 0;
  status_of(pid_, "TracerPid:") >> tracer;
  return tracer != 0;
}

// Before Linux 5.9 only whether there are any.
unsigned Process::filters() const {
  unsigned mode = 0;
  unsigned filters = 0;
  status_of(pid_, "Seccomp:") >> mode;
  status_of(pid_, "Seccomp_filters:") >> filters;
  return std::max(filters, mode == 0 ? 0U : 1U);
}

pid_t Process::innermost_pid() const {
  pid_t innermost = pid_;
  std::istringstream pids = status_of(pid_, "NSpid:");
  for (pid_t pid; pids >> pid;) innermost = pid;
  return innermost;
}

std::string Process::field(Field wanted) const {
  const std::vector<std::string> fields = stat_fields(pid_);
  if (fields.empty()) fail(ESRCH);
  return fields[wanted];
}

bool Process::has_memory() const {
  std::error_code ignored;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid_), ignored);
  for (; task != std::filesystem::directory_iterator(); task.increment(ignored)) {
    const pid_t thread = std::stoi(task->path().filename());
    if (status_of(thread, "VmSize:").rdbuf()->in_avail() > 0) return true;
  }
  return false;
}

bool Process::is_stopped() const {
  const std::string state = field(kState);
  return state == "T" || state == "t";
}

Process::User Process::user() const {
  User user{};
  unsigned real = 0;
  if (!read_ids(pid_, "Uid:", real, user.uid) || !read_ids(pid_, "Gid:", real, user.gid)) {
    fail(ESRCH);
  }
  try {
    if (shares("user")) status_of(pid_, "CapPrm:") >> std::hex >> user.capabilities;
  } catch (const Failure&) {  // whose name space may not be seen has none
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

pid_t process_id(const std::string& text) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const bool is_id = error == std::errc{} && end == text.data() + text.size() && pid > 0;
  return is_id ? waited_for(pid) : 0;
}

}  // namespace pktmalloc
