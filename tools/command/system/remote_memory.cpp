// SPDX-License-Identifier: MIT
#include "tools/command/system/remote_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

#include "tools/command/failure.h"

namespace pktmalloc {
namespace {

constexpr size_t kPage = 4096;  // the least that can be unreadable

// The kernel asks the same as for a debugger, and tells one "no" for many reasons.
[[noreturn]] void refused(pid_t pid) {
  struct stat folder {};
  stat(fmt::format("/proc/{}", pid).c_str(), &folder);
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (folder.st_uid == geteuid() && scope > 0) {
    throw Failure(
        "process {} may not be read: kernel.yama.ptrace_scope is {}; read it as root, or set "
        "that to 0",
        pid, scope);
  }
  throw Failure("process {} may not be read: it belongs to another user or is protected", pid);
}

}  // namespace

size_t ProcessMemory::copy(std::span<const Piece> pieces) const {
  size_t done = 0;
  while (done < pieces.size()) {
    iovec here[IOV_MAX];
    iovec there[IOV_MAX];
    const size_t now = std::min(pieces.size() - done, size_t{IOV_MAX});
    for (size_t i = 0; i < now; ++i) {
      const Piece& piece = pieces[done + i];
      here[i] = {piece.to, piece.bytes};
      there[i] = {reinterpret_cast<void*>(piece.address), piece.bytes};
    }
    ssize_t bytes = process_vm_readv(thread_, here, now, there, now, 0);
    if (bytes < 0) {
      if (errno == EFAULT) return done;
      if (errno == EPERM) refused(pid_);
      if (errno == ESRCH) throw Failure("process {} has ended", pid_);
      throw Failure("process {} cannot be read: {}", pid_, strerror(errno));
    }
    for (size_t i = 0; i < now; ++i) {
      bytes -= static_cast<ssize_t>(here[i].iov_len);
      if (bytes < 0) return done;
      ++done;
    }
  }
  return done;
}

OpenMemory::OpenMemory(pid_t pid, pid_t named)
    : file_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) refused(named);
}

OpenMemory::~OpenMemory() { close(file_); }

size_t OpenMemory::copy(std::span<const Piece> pieces) const {
  size_t done = 0;
  for (const Piece& piece : pieces) {
    const auto at = static_cast<off_t>(piece.address);
    if (pread(file_, piece.to, piece.bytes, at) != static_cast<ssize_t>(piece.bytes)) break;
    ++done;
  }
  return done;
}

void RemoteMemory::copy_all(std::span<const Piece> pieces) const {
  while (!pieces.empty()) {
    pieces = pieces.subspan(copy(pieces));
    if (pieces.empty()) return;
    copy_pages(pieces[0]);
    pieces = pieces.subspan(1);
  }
}

// As much of it as can be read.
void RemoteMemory::copy_pages(const Piece& piece) const {
  for (size_t done = 0, bytes; done < piece.bytes; done += bytes) {
    const uint64_t from = piece.address + done;
    bytes = std::min(kPage - from % kPage, piece.bytes - done);
    const Piece page{from, static_cast<char*>(piece.to) + done, bytes};
    if (copy({&page, 1}) == 0) memset(page.to, 0, bytes);
  }
}

}  // namespace pktmalloc
