// SPDX-License-Identifier: MIT
// Image: a process as others can look into it, while it runs or as a core file has kept it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/command/system/process.h"
#include "tools/command/system/remote_memory.h"

namespace pktmalloc {

// Where a file can be opened, as long as this is there.
class FoundFile {
 public:
  explicit FoundFile(std::string path, int descriptor = -1)
      : path_(std::move(path)), descriptor_(descriptor) {}
  ~FoundFile();
  FoundFile(FoundFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  FoundFile& operator=(FoundFile&&) = delete;

  const std::string& path() const { return path_; }  // "": it cannot

 private:
  std::string path_;
  int descriptor_;
};

class Image {
 public:
  virtual ~Image() = default;

  virtual const RemoteMemory& memory() const = 0;
  virtual std::vector<Mapping> mappings() const = 0;
  // A file that it maps; the executable also if it was deleted since.
  virtual FoundFile file(const std::string& path) const = 0;
  // As it is mapped.
  virtual std::string executable() const = 0;
  virtual std::string name() const = 0;  // "process 1234"
};

class RunningImage : public Image {
 public:
  // `thread` is one of the process that has not ended.
  RunningImage(pid_t pid, pid_t thread);
  ~RunningImage() override;
  RunningImage(const RunningImage&) = delete;
  RunningImage& operator=(const RunningImage&) = delete;

  // From now on it needs no right to look into the process any more, but for what the files of the
  // process ask themselves. Throws Failure.
  void keep_open();

  const RemoteMemory& memory() const override { return *memory_; }
  std::vector<Mapping> mappings() const override;
  // Symbolic links lead nowhere but where they lead that process, which may live in a container;
  // what is no regular file is not found.
  FoundFile file(const std::string& path) const override;
  std::string executable() const override;
  std::string name() const override;

 private:
  pid_t pid_;
  Process process_;
  std::unique_ptr<RemoteMemory> memory_;
  // What is kept open; else -1.
  int maps_ = -1, root_ = -1, program_ = -1;
  std::string executable_;
};

}  // namespace pktmalloc
