// SPDX-License-Identifier: MIT
// Resident memory of this process, and what is mapped into it, told without allocating.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace pktmalloc {

// `key` as in /proc/self/status, in KiB there.
inline uint64_t status_bytes(const char* key) {
  static char text[8192];
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = '\0';
  const char* found = strstr(text, key);
  return found == nullptr ? 0 : strtoull(found + strlen(key), nullptr, 10) << 10;
}

// VmHWM begins anew.
inline void forget_peak() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  const ssize_t ignored = write(file, "5", 1);
  static_cast<void>(ignored);
  close(file);
}

}  // namespace pktmalloc
