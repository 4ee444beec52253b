// SPDX-License-Identifier: MIT
#include "preload/base/kept_stderr.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"

namespace pktmalloc {
namespace {

int copy = -1;
struct stat identity;

}  // namespace

void keep_stderr() {
  if (status_of(STDERR_FILENO, &identity) != 0) return;
  copy = copy_high(STDERR_FILENO, 500);  // far from the numbers that programs rely on
}

int kept_stderr() {
  if (has_file(STDERR_FILENO, identity)) return STDERR_FILENO;
  return has_file(copy, identity) ? copy : -1;
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
