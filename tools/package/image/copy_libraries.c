// SPDX-License-Identifier: MIT
// copy-pktmalloc FOLDER: copies the libraries that lie in this image into a folder, which another
// container shares. The image has no shell and no cp.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char* const kNames[] = {"libpktmalloc.so", "libpktmalloc-hardened.so",
                                     "libpktmalloc-checked.so"};

// Under another name first: a program that starts meanwhile finds all of it or nothing.
static int copy(const char* from, const char* to, const char* before) {
  const int source = open(from, O_RDONLY | O_CLOEXEC);
  const int target = open(before, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (source < 0 || target < 0) return -1;
  ssize_t sent;
  while ((sent = sendfile(target, source, NULL, 1 << 20)) > 0) {
  }
  return sent < 0 || fchmod(target, 0755) != 0 || close(target) != 0 || close(source) != 0 ||
                 rename(before, to) != 0
             ? -1
             : 0;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fputs("copy-pktmalloc: name one folder for the libraries\n", stderr);
    return 2;
  }
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char from[128], to[4096], before[4096];
    snprintf(from, sizeof from, "/usr/local/lib/%s", kNames[i]);
    const int length = snprintf(before, sizeof before, "%s/%s.new", argv[1], kNames[i]);
    snprintf(to, sizeof to, "%s/%s", argv[1], kNames[i]);
    if (length >= (int)sizeof before) errno = ENAMETOOLONG;
    if (length >= (int)sizeof before || copy(from, to, before) != 0) {
      fprintf(stderr, "copy-pktmalloc: %s cannot be copied to %s: %s\n", from, argv[1],
              strerror(errno));
      return 1;
    }
  }
  return 0;
}
