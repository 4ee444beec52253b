// SPDX-License-Identifier: MIT
// CoreFile: a process as it was when the system, or gcore(1), wrote it to a file.
//
// What of mapped files is not in it, such as constants, is read from those files as they are now.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/command/system/image.h"

namespace pktmalloc {

class CoreFile : public Image, public RemoteMemory {
 public:
  // Throws Failure when the file is no core file of a program of this machine, or is truncated.
  explicit CoreFile(const std::string& path);
  ~CoreFile() override;
  CoreFile(const CoreFile&) = delete;
  CoreFile& operator=(const CoreFile&) = delete;

  const RemoteMemory& memory() const override { return *this; }
  std::vector<Mapping> mappings() const override { return mappings_; }
  FoundFile file(const std::string& path) const override { return FoundFile(path); }
  std::string executable() const override { return executable_; }
  std::string name() const override { return path_; }
  size_t copy(std::span<const Piece> pieces) const override;

  pid_t pid() const { return pid_; }
  // Of each thread, all words that may be addresses.
  const std::vector<std::vector<uint64_t>>& registers() const { return registers_; }

 private:
  struct Segment {
    uint64_t start, end;  // of addresses
    uint64_t bytes;       // of them are here
    uint64_t offset;      // in this file
  };
  void read_segments(size_t file_bytes);
  void read_notes();
  void read_note(uint32_t type, const char* bytes, size_t size);
  void add_left_out();
  void name_mappings();
  bool copy_piece(const Piece& piece) const;
  bool copy_from_mapped(const Segment& segment, uint64_t address, char* to, size_t bytes) const;

  std::string path_;
  const char* bytes_ = nullptr;
  size_t size_ = 0;
  uint64_t headers_ = 0;           // of segments
  std::vector<Segment> segments_;  // by address
  std::vector<Mapping> mappings_;  // the same ones
  std::vector<Mapping> files_;     // as noted
  mutable std::map<std::string, int> opened_;
  std::string executable_;
  uint64_t headers_at_ = 0;  // of the program, in its memory
  uint64_t on_stack_ = 0;    // what the kernel puts there at the start
  pid_t pid_ = 0;
  std::vector<std::vector<uint64_t>> registers_;
};

}  // namespace pktmalloc
