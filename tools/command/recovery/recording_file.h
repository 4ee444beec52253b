// SPDX-License-Identifier: MIT
// RecordingFile: a recording (preload/formats/recording_format.h) of this user's, mapped. What it
// says is checked before it is followed: it may be damaged.
#pragma once

#include <string>
#include <vector>

#include "preload/formats/recording_format.h"

namespace pktmalloc {

class RecordingFile {
 public:
  // Throws Failure: it cannot be read, is none, is damaged, of another version or another user's.
  explicit RecordingFile(const std::string& path);
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  const std::string& path() const { return path_; }
  recording::Header& header() const { return *header_; }
  std::string program() const;
  std::string library() const;
  bool wanted(recording::Content content) const;
  std::string report_path(recording::Content content) const;

  // The name that the process had when it began, as in /proc/PID/comm.
  std::string comm() const;
  // Does the process still run, and map the file?
  bool in_use() const;
  // Is this the file that has the name now?
  bool is_current() const;

  // The i-th element of the array of that kind; nullptr: it is missing.
  template <typename T>
  const T* find(recording::ChunkKind kind, uint32_t i) const {
    constexpr uint32_t kInChunk = recording::kChunkBytes / sizeof(T);
    const char* const found = chunk(kind, i / kInChunk);
    return found == nullptr ? nullptr : reinterpret_cast<const T*>(found) + i % kInChunk;
  }
  const char* chunk(recording::ChunkKind kind, uint32_t number) const;
  // All of a kind.
  std::vector<const char*> chunks(recording::ChunkKind kind) const;

 private:
  const char* chunk_at(uint32_t i) const;

  std::string path_;
  size_t bytes_ = 0;
  uint64_t device_ = 0, file_ = 0;
  recording::Header* header_ = nullptr;
  std::vector<const char*> by_number_[recording::kChunkKinds];
};

}  // namespace pktmalloc
