// SPDX-License-Identifier: MIT
#include "preload/reports/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/contract/format.h"
#include "preload/reports/snapshot.h"

namespace pktmalloc {
namespace {

// False with errno if any of it failed.
template <typename Print>
bool write_to(int fd, ReportFile& file, Print print) {
  Writer out(fd, file.buffer, sizeof file.buffer);
  print(out);
  const bool written = out.finish();
  const int saved_errno = errno;
  close(fd);
  errno = saved_errno;
  return written;
}

// A file of that name that was not there before; -1 with errno. One left by a process of the same
// id that died in the middle is replaced.
int create_new(const char* path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int fd = open(path, kFlags, 0666);
  if (fd >= 0 || errno != EEXIST || unlink(path) != 0) return fd;
  return open(path, kFlags, 0666);
}

template <typename Print>
bool write_whole(ReportFile& file, const char* what, Print print) {
  const char* const path = file.path;
  const char* const temporary = file.temporary;
  snprintf(file.temporary, sizeof file.temporary, "%s.%d.tmp", path, getpid());
  struct stat found;
  const bool replaceable = lstat(path, &found) != 0 || S_ISREG(found.st_mode);
  int fd = replaceable ? create_new(temporary) : -1;
  bool written = false;
  if (fd >= 0) {
    written = write_to(fd, file, print) && rename(temporary, path) == 0;
    if (!written) {
      const int saved_errno = errno;
      unlink(temporary);
      errno = saved_errno;
    }
  } else {
    // Also where the folder takes no new files. /dev/stderr may be a log that is not ours to empty.
    const int how = strncmp(path, "/dev/", 5) == 0 ? O_APPEND : O_TRUNC;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
    written = fd >= 0 && write_to(fd, file, print);
  }
  if (!written) message("cannot write %s to %s: %s", what, path, strerrordesc_np(errno));
  return written;
}

}  // namespace

bool ReportFile::name(const char* pattern, unsigned number) {
  size_t used = 0;
  const auto append = [&](const char* text, size_t length) {
    if (used + length >= sizeof path) return false;
    memcpy(path + used, text, length);
    used += length;
    return true;
  };
  bool fits = true;
  for (const char* p = pattern; *p != '\0' && fits; ++p) {
    char digits[16];
    const char letter = p[0] == '%' ? p[1] : '\0';
    if (letter == 'p') {
      fits = append(digits, static_cast<size_t>(snprintf(digits, sizeof digits, "%d", getpid())));
    } else if (letter == 'n') {
      fits = append(digits, static_cast<size_t>(snprintf(digits, sizeof digits, "%05u", number)));
    } else if (letter == 'e') {
      fits = append(program_name(), strlen(program_name()));
    } else {
      fits = append(p, 1);
    }
    if (letter == 'p' || letter == 'n' || letter == 'e' || letter == '%') ++p;
  }
  path[used] = '\0';
  return fits;
}

bool ReportFile::ends_with(const char* ending) const {
  const size_t length = strlen(path);
  const size_t ending_length = strlen(ending);
  return length >= ending_length && strcmp(path + length - ending_length, ending) == 0;
}

bool ReportFile::write(const Snapshot& snapshot) {
  return write_whole(*this, "statistics", [&](Writer& out) {
    if (ends_with(".json")) {
      write_json(out, this_process(), snapshot);
    } else if (ends_with(".prom")) {
      write_prometheus(out, snapshot);
    } else {
      write_text(out, this_process(), snapshot);
    }
  });
}

bool ReportFile::write(const char* what, void (*print)(Writer& out)) {
  return write_whole(*this, what, print);
}

}  // namespace pktmalloc
