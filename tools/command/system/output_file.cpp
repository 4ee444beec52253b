// SPDX-License-Identifier: MIT
#include "tools/command/system/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "preload/formats/descriptor_name.h"
#include "tools/command/failure.h"
#include "tools/command/system/standard_output.h"

namespace pktmalloc {
namespace {

mode_t mode_of_new_files() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

// The paths of the outputs that there are.
std::set<std::string>& taken() {
  static std::set<std::string> paths;
  return paths;
}

}  // namespace

OutputFile::OutputFile(const std::string& path, Links links) : path_(path) {
  signal(SIGXFSZ, SIG_IGN);  // a limit is told as an error, too
  if (is_stdout() && isatty(STDOUT_FILENO)) {
    throw Failure("a page on a terminal is no use: name a file, or pipe it");
  }
  if (const int own = is_stdout() ? STDOUT_FILENO : descriptor_of(path); own >= 0) {
    descriptor_ = fcntl(own, F_DUPFD_CLOEXEC, 3);
  } else if (names_descriptor(path)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  } else {
    open_file(links);
  }
  if (descriptor_ < 0) throw Failure("cannot write {}: {}", path, strerror(errno));
  if ((is_stdout() || !temporary_.empty()) && !taken().insert(path_).second) {
    close_file();
    throw Failure("cannot write {}: something else is to go there, too", path);
  }
}

void OutputFile::open_file(Links links) {
  std::error_code ignored;
  if (links == Links::kFollowed) {
    const auto real = std::filesystem::weakly_canonical(path_, ignored);  // a link stays a link
    if (!ignored) path_ = real;
  } else if (std::filesystem::is_symlink(path_, ignored)) {
    throw Failure("cannot write {}: it is a symbolic link", path_);
  }
  struct stat before {};
  const bool exists = stat(path_.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) throw Failure("cannot write {}: it is a folder", path_);
  if (exists && !S_ISREG(before.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) return temporary_.clear();
  fchmod(descriptor_, exists ? before.st_mode & 07777 : mode_of_new_files());
}

void OutputFile::close_file() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

OutputFile::~OutputFile() {
  taken().erase(path_);
  close_file();
}

void OutputFile::write(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(descriptor_, text.data() + at, text.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      if (is_stdout()) end_if_unread(errno);
      throw Failure("cannot write {}: {}", path_, strerror(errno));
    }
    at += static_cast<size_t>(wrote);
  }
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0)) {
    throw Failure("cannot write {}: {}", path_, strerror(errno));
  }
  temporary_.clear();
}

}  // namespace pktmalloc
