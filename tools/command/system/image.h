// SPDX-License-Identifier: MIT
// Image: a process as others can look into it, while it runs or as a core file has kept it.
#pragma once

#include <string>
#include <vector>

#include "tools/command/system/process.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

class Image {
 public:
  virtual ~Image() = default;

  virtual const RemoteMemory& memory() const = 0;
  virtual std::vector<Mapping> mappings() const = 0;
  // Where a file that it maps can be opened here; the executable also if it was deleted since.
  virtual std::string file(const std::string& path) const = 0;
  // As it is mapped.
  virtual std::string executable() const = 0;
  virtual std::string name() const = 0;  // "process 1234"
};

class RunningImage : public Image {
 public:
  // `thread` is one of the process that has not ended.
  RunningImage(pid_t pid, pid_t thread) : pid_(pid), process_(thread), memory_(pid, thread) {}

  const RemoteMemory& memory() const override { return memory_; }
  std::vector<Mapping> mappings() const override { return process_.mappings(); }
  std::string file(const std::string& path) const override;
  std::string executable() const override;
  std::string name() const override;

 private:
  pid_t pid_;
  Process process_;
  ProcessMemory memory_;
};

}  // namespace pktmalloc
