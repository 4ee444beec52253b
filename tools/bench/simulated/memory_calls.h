// SPDX-License-Identifier: MIT
// The system calls by which a program gives pages back, found in lines of --trace-syscalls=yes:
//   SYSCALL[PID,THREAD](11) sys_munmap ( 0x491d000, 36411 )[sync] --> Success(0x0)
// munmap, madvise, mmap over what is there, and brk to a lower end. mremap is left out: what it
// moves is read here as touched anew.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

namespace simulated {

struct Range {
  std::uint64_t address, bytes;
};

class MemoryCalls {
 public:
  // What the call on this line gives back, if it is such a call.
  std::optional<Range> released(const char* line) {
    unsigned long address = 0, bytes = 0, word = 0, flags = 0;
    if (const char* call = std::strstr(line, "sys_munmap ("))
      if (std::sscanf(call, "sys_munmap ( %lx, %lu", &address, &bytes) == 2)
        return Range{address, bytes};
    if (const char* call = std::strstr(line, "sys_madvise ("))
      if (std::sscanf(call, "sys_madvise ( %lx, %lu, %lu", &address, &bytes, &word) == 3)
        if (word == kDontNeed || word == kFree) return Range{address, bytes};
    if (const char* call = std::strstr(line, "sys_mmap ("))
      if (std::sscanf(call, "sys_mmap ( %lx, %lu, %lu, %lu", &address, &bytes, &word, &flags) == 4)
        if ((flags & kFixed) != 0) return Range{address, bytes};
    if (const char* call = std::strstr(line, "sys_brk ("))
      if (std::sscanf(call, "sys_brk ( %lx", &address) == 1) return moved_break(address);
    return std::nullopt;
  }

 private:
  // As <sys/mman.h> of Linux on x86-64 has them.
  static constexpr unsigned long kDontNeed = 4, kFree = 8, kFixed = 0x10;

  std::optional<Range> moved_break(std::uint64_t end) {
    if (end == 0) return std::nullopt;  // asks only
    const std::uint64_t before = break_;
    break_ = end;
    if (end < before) return Range{end, before - end};
    return std::nullopt;
  }

  std::uint64_t break_ = 0;
};

}  // namespace simulated
