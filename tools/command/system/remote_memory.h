// SPDX-License-Identifier: MIT
// RemoteMemory: copies out of the memory of another process, which goes on working, or stays
// stopped, and does not notice. Throws Failure with the pid when the process has ended or this user
// may not read it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pktmalloc {

class RemoteMemory {
 public:
  // `thread` is one of the process that has not ended.
  RemoteMemory(pid_t pid, pid_t thread) : pid_(pid), thread_(thread) {}

  struct Piece {
    uint64_t address;  // there
    void* to;          // here
    size_t bytes;
  };

  // In order, a thousand a system call, up to the first piece of which a byte cannot be read, which
  // is left half done. Returns the number of pieces before it.
  size_t copy(std::span<const Piece> pieces) const;

  // All of them; what cannot be read becomes zeros.
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
  pid_t pid_, thread_;
};

}  // namespace pktmalloc
