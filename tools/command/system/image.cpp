// SPDX-License-Identifier: MIT
#include "tools/command/system/image.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <sstream>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

std::string path_of(int descriptor) { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor); }

bool is_our_root(int root) {
  struct stat there {
  }, here{};
  return fstat(root, &there) == 0 && stat("/", &here) == 0 && there.st_dev == here.st_dev &&
         there.st_ino == here.st_ino;
}

// Opens nothing but the name: whoever reads it must have the right to. -1: there is none, or this
// kernel (before Linux 5.6) cannot keep links within another root.
int find_in(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const int file = static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
  // Filters of older containers refuse what they do not know.
  if (file >= 0 || (errno != ENOSYS && errno != EPERM) || !is_our_root(root)) return file;
  return open(path.c_str(), O_PATH | O_CLOEXEC);
}

std::string target_of(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

}  // namespace

FoundFile::~FoundFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

RunningImage::RunningImage(pid_t pid, pid_t thread)
    : pid_(pid), process_(thread, pid), memory_(std::make_unique<ProcessMemory>(pid, thread)) {}

RunningImage::~RunningImage() {
  for (const int file : {maps_, root_, program_}) {
    if (file >= 0) close(file);
  }
}

void RunningImage::keep_open() {
  process_.mappings();  // tells why it cannot be read
  memory_ = std::make_unique<OpenMemory>(process_.pid(), pid_);
  maps_ = open(process_.file("maps").c_str(), O_RDONLY | O_CLOEXEC);
  root_ = open(process_.file("root").c_str(), O_PATH | O_CLOEXEC);
  program_ = open(process_.executable().c_str(), O_PATH | O_CLOEXEC);
  executable_ = target_of(process_.executable());
  if (maps_ < 0 || root_ < 0 || program_ < 0) {
    throw Failure("process {} may not be read: {}", pid_, strerror(errno));
  }
}

std::vector<Mapping> RunningImage::mappings() const {
  if (maps_ < 0) return process_.mappings();
  std::string text;
  char buffer[16384];
  lseek(maps_, 0, SEEK_SET);
  for (ssize_t got; (got = read(maps_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  if (text.empty()) throw Failure("process {} has ended", pid_);
  std::istringstream maps(text);
  return mappings_in(maps);
}

FoundFile RunningImage::file(const std::string& path) const {
  if (path == executable()) {
    return FoundFile(program_ < 0 ? process_.executable() : path_of(program_));
  }
  const int root = root_ >= 0 ? root_ : open(process_.file("root").c_str(), O_PATH | O_CLOEXEC);
  const int found = root < 0 ? -1 : find_in(root, path);
  if (root != root_) close(root);
  struct stat status {};
  const bool is_file = found >= 0 && fstat(found, &status) == 0 && S_ISREG(status.st_mode);
  return FoundFile(is_file ? path_of(found) : "", found);
}

std::string RunningImage::executable() const {
  return program_ >= 0 ? executable_ : target_of(process_.executable());
}

std::string RunningImage::name() const { return fmt::format("process {}", pid_); }

}  // namespace pktmalloc
