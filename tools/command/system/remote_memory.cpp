// SPDX-License-Identifier: MIT
#include "tools/command/system/remote_memory.h"

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

size_t RemoteMemory::copy(std::span<const Piece> pieces) const {
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

void RemoteMemory::copy_all(std::span<const Piece> pieces) const {
  while (!pieces.empty()) {
    pieces = pieces.subspan(copy(pieces));
    if (pieces.empty()) return;
    memset(pieces[0].to, 0, pieces[0].bytes);
    pieces = pieces.subspan(1);
  }
}

}  // namespace pktmalloc
