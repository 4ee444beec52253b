// SPDX-License-Identifier: MIT
// RemoteMemory: copies out of the memory of another process.
//
// ProcessMemory: of one that goes on working, or stays stopped, and does not notice. It throws
// Failure with the pid when the process has ended or this user may not read it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pktmalloc {

class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  struct Piece {
    uint64_t address;  // there
    void* to;          // here
    size_t bytes;
  };

  // In order, of a process a thousand a system call, up to the first piece of which a byte cannot
  // be read, which is left half done. Returns the number of pieces before it.
  virtual size_t copy(std::span<const Piece> pieces) const = 0;

  // All of them; pages that cannot be read become zeros.
  void copy_all(std::span<const Piece> pieces) const;

  // One value; zeros when it cannot be read.
  template <typename Value>
  Value load(uint64_t address) const {
    Value value;
    const Piece piece{address, &value, sizeof value};
    copy_all({&piece, 1});
    return value;
  }

 private:
  void copy_pages(const Piece& piece) const;
};

class ProcessMemory : public RemoteMemory {
 public:
  // `thread` is one of the process that has not ended.
  ProcessMemory(pid_t pid, pid_t thread) : pid_(pid), thread_(thread) {}

  size_t copy(std::span<const Piece> pieces) const override;

 private:
  pid_t pid_, thread_;
};

// By its file, which may be read as long as it is open, whatever rights this process has then. Also
// for the memory of a copy that a process shares until it writes to it: to read it by the call of
// ProcessMemory would copy each page in the kernel.
class OpenMemory : public RemoteMemory {
 public:
  OpenMemory(pid_t pid, pid_t named);  // as Process
  ~OpenMemory() override;
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

  size_t copy(std::span<const Piece> pieces) const override;

 private:
  int file_;
};

}  // namespace pktmalloc
