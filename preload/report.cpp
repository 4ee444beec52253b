// SPDX-License-Identifier: MIT
#include "preload/report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "preload/message.h"
#include "preload/options.h"

namespace pktmalloc {

namespace {

// A copy of stderr, far from the numbers that programs count on; some, such as GNU coreutils, close
// theirs in an exit handler, before library destructors run.
constexpr int kFarDescriptor = 500;
int stderr_copy = -1;
struct stat stderr_identity;

bool is_our_stderr(int fd) {
  struct stat now;
  return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == stderr_identity.st_dev &&
         now.st_ino == stderr_identity.st_ino;
}

// Descriptors may have been closed and reused for the program's own files: only what still is the
// stderr of the start is written to. -1 if it is gone.
int find_stderr() {
  if (is_our_stderr(STDERR_FILENO)) return STDERR_FILENO;
  return is_our_stderr(stderr_copy) ? stderr_copy : -1;
}

bool ends_with(const char* text, const char* end) {
  const size_t length = strlen(text);
  const size_t end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// %p process id, %e program name, %% a percent sign; any other % stays. False if it does not fit.
bool expand_path(const char* pattern, char* out, size_t bytes) {
  size_t used = 0;
  const auto append = [&](const char* text, size_t length) {
    if (used + length >= bytes) return false;
    memcpy(out + used, text, length);
    used += length;
    return true;
  };
  bool fits = true;
  for (const char* p = pattern; *p != '\0' && fits; ++p) {
    char pid[16];
    if (p[0] == '%' && p[1] == 'p') {
      fits = append(pid, static_cast<size_t>(snprintf(pid, sizeof pid, "%d", getpid())));
      ++p;
    } else if (p[0] == '%' && p[1] == 'e') {
      fits = append(program_name(), strlen(program_name()));
      ++p;
    } else {
      if (p[0] == '%' && p[1] == '%') ++p;
      fits = append(p, 1);
    }
  }
  out[used] = '\0';
  return fits;
}

void write_file(const char* pattern, const Snapshot& snapshot) {
  char path[PATH_MAX];
  if (!expand_path(pattern, path, sizeof path)) {
    message("PKTMALLOC_STATS=%s: %s", pattern, strerror(ENAMETOOLONG));
    return;
  }
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    message("cannot write statistics to %s: %s", path, strerror(errno));
    return;
  }
  Writer out(fd);
  if (ends_with(path, ".json")) {
    write_json(out, snapshot);
  } else if (ends_with(path, ".prom")) {
    write_prometheus(out, snapshot);
  } else {
    write_text(out, snapshot);
  }
  if (!out.finish()) message("cannot write statistics to %s: %s", path, strerror(errno));
  close(fd);
}

}  // namespace

void report_start() {
  const char* path = options().stats_path;
  if (path == nullptr || *path != '\0') return;
  const int saved_errno = errno;
  if (fstat(STDERR_FILENO, &stderr_identity) == 0) {
    stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kFarDescriptor);
  }
  errno = saved_errno;
}

void report_at_exit() {
  const char* path = options().stats_path;
  if (path == nullptr) return;
  const int saved_errno = errno;
  Snapshot snapshot;
  take_snapshot(snapshot);
  measure_resident(snapshot);
  if (*path != '\0') {
    write_file(path, snapshot);
  } else if (const int fd = find_stderr(); fd >= 0) {
    Writer out(fd);
    write_text(out, snapshot);
    out.finish();
  }
  errno = saved_errno;
}

int report_descriptor() {
  const int fd = find_stderr();
  return fd >= 0 ? fd : STDERR_FILENO;
}

void report_now() {
  Snapshot snapshot;
  take_snapshot(snapshot);
  measure_resident(snapshot);
  Writer out(STDERR_FILENO);
  write_text(out, snapshot);
  out.finish();
}

}  // namespace pktmalloc
