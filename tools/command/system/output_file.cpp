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

#include "tools/command/failure.h"
#include "tools/command/system/standard_output.h"

namespace pktmalloc {
namespace {

mode_t mode_of_new_files() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (is_stdout()) {
    if (isatty(STDOUT_FILENO))
      throw Failure("a page on a terminal is no use: name a file, or pipe it");
    descriptor_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return;
  }
  std::error_code ignored;
  const auto real = std::filesystem::weakly_canonical(path, ignored);  // a link stays a link
  if (!ignored) path_ = real;
  struct stat before {};
  signal(SIGXFSZ, SIG_IGN);  // a limit is told as an error, too
  const bool exists = stat(path_.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) throw Failure("cannot write {}: it is a folder", path);
  if (exists && !S_ISREG(before.st_mode)) {
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = path_ + ".XXXXXX";
    descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
    if (descriptor_ < 0) temporary_.clear();
  }
  if (descriptor_ < 0) throw Failure("cannot write {}: {}", path, strerror(errno));
  if (!temporary_.empty()) {
    fchmod(descriptor_, exists ? before.st_mode & 07777 : mode_of_new_files());
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
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
