// SPDX-License-Identifier: MIT
#include "preload/base/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/formats/descriptor_name.h"
#include "sizeclass/base/keep_errno.h"

namespace pktmalloc {
namespace {

int stderr_copy = -1;
struct stat stderr_identity;

// Does not wait for the reader of a pipe.
int open_as_it_is(const char* path, int how) {
  return open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | link_flag(path) | how, 0600);
}

// Creates a file of that name; -1 with errno. It replaces an existing one: either a process of the
// same id died in the middle and left it, or it is the previous one.
int create_new(const char* path, int access = O_WRONLY) {
  const int flags = access | O_CREAT | O_EXCL | O_CLOEXEC;
  const int fd = open(path, flags, 0600);
  return fd < 0 && errno == EEXIST && unlink(path) == 0 ? open(path, flags, 0600) : fd;
}

// Keeps the access rights of the file it replaces, if that has the same owner and group.
void keep_access(int fd, const struct stat& replaced) {
  struct stat made;
  if (status_of(fd, &made) == 0 && made.st_uid == replaced.st_uid &&
      made.st_gid == replaced.st_gid) {
    fchmod(fd, replaced.st_mode & 0777);
  }
}

// A new file under `name`; or what the path names, if that is no regular file or its folder takes
// no new files; -1 with errno.
int open_place(const char* path, const char* name, bool& is_new) {
  struct stat found;
  const bool there = status_of(path, &found, AT_SYMLINK_NOFOLLOW) == 0;
  is_new = false;
  if (!there || S_ISREG(found.st_mode)) {
    const int fd = create_new(name);
    if (fd >= 0) {
      is_new = true;
      if (there) keep_access(fd, found);
      return fd;
    }
    if (errno == EEXIST || errno == EPERM) return -1;  // somebody else's, in a folder like /tmp
  }
  // /dev/stderr may be a log, which is not ours to empty.
  return open_as_it_is(path, O_CREAT | (names_descriptor(path) ? O_APPEND : O_TRUNC));
}

}  // namespace

bool ReportPath::name(const char* pattern, unsigned number) {
  Writer out(path, sizeof path);
  if (*pattern != '/' && *start_folder() != '\0') {
    out.put(start_folder(), strlen(start_folder()));
    out.put("/", 1);
    while (strncmp(pattern, "./", 2) == 0) pattern += 2;
  }
  for (const char* p = pattern; *p != '\0'; ++p) {
    const bool stands = p[0] == '%' && p[1] != '\0' && strchr("pnec%", p[1]) != nullptr;
    const char letter = stands ? *++p : '\0';
    if (letter == 'p') {
      out.print("%d", getpid());
    } else if (letter == 'n') {
      out.print("%05u", number);
    } else if (letter == 'e') {
      out.print("%s", program_name());
    } else if (letter != 'c') {
      out.put(p, 1);
    } else if (options().tell != 0 && options().tell != getpid()) {
      out.print(".%d", getpid());
    }
  }
  out.finish();
  return out.length() < sizeof path;
}

bool ReportFile::write(void (*print)(Writer& out)) {
  snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, getpid());
  bool is_new;
  const int fd = open_place(path, temporary, is_new);
  if (fd < 0) return false;
  Writer out(fd, buffer, sizeof buffer);
  print(out);
  bool written = out.finish();
  {
    const KeepErrno keep;
    // Who writes to a descriptor next goes on behind the report.
    struct stat file;
    const int own = descriptor_of(path);
    if (own >= 0 && status_of(fd, &file) == 0 && has_file(own, file)) lseek(own, 0, SEEK_END);
    close(fd);
  }
  if (!is_new) return written;
  written = written && rename(temporary, path) == 0;
  const KeepErrno keep;
  if (!written) unlink(temporary);
  return written;
}

int ReportPath::open_growing() const {
  bool ignored;
  return open_place(path, path, ignored);
}

int ReportPath::open_shared() const {
  struct stat found;
  if (status_of(path, &found, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(found.st_mode)) {
    errno = EEXIST;
    return -1;
  }
  return create_new(path, O_RDWR);
}

int ReportPath::open_again() const { return open_as_it_is(path, O_APPEND); }

const char* ReportPath::why(int error) const {
  if (error == ELOOP) return "it is a symbolic link";
  if (error == ENXIO && !names_descriptor(path)) return "nobody reads it";
  if (error == EAGAIN) return "its reader takes nothing";
  return error_text(error);
}

void keep_stderr() {
  if (status_of(STDERR_FILENO, &stderr_identity) != 0) return;
  stderr_copy = copy_high(STDERR_FILENO, 500);  // far from the numbers that programs rely on
}

int kept_stderr() {
  if (has_file(STDERR_FILENO, stderr_identity)) return STDERR_FILENO;
  return has_file(stderr_copy, stderr_identity) ? stderr_copy : -1;
}

bool tells_files() { return options().tell != 0 && options().tell == getpid(); }

void tell_file(const char* what, const char* path, const char* command) {
  if (!tells_files()) return;
  const int fd = kept_stderr();
  if (fd < 0) return;
  if (command == nullptr) return message_to(fd, "%s are in %s", what, path);
  message_to(fd, "%s are in %s; read them with: pktmalloc %s %s", what, path, command, path);
}

}  // namespace pktmalloc
