// SPDX-License-Identifier: MIT
// Compressor: turns pieces of a file into zstd frames (RFC 8878), which together are an ordinary
// .zst file.
//
// Each frame stands alone: whatever happens to the process, the file is whole at the end of each
// one, and nothing is carried over a fork. libzstd.so.1 is loaded only when wanted, so nothing else
// needs it, and works in memory mapped for it: compressing allocates nothing. Without it the frames
// hold the bytes as they are. One thread at a time.
#pragma once

#include <cstddef>

namespace pktmalloc {

class Compressor {
 public:
  // At load, for pieces of at most this many bytes. False without a usable libzstd, or without
  // memory; why() says which.
  bool load(size_t most_bytes);
  const char* why() const { return why_; }
  // In the child of a fork: another thread's piece may have been under way.
  void restart();

  // Precedes a piece, of less than 128 KiB, that is stored as it is.
  static constexpr size_t kStoredHeadBytes = 12;
  struct Frame {
    const void* head;
    size_t head_bytes;
    const void* body;
    size_t body_bytes;
  };
  // Valid until the next frame is made.
  Frame compress(const void* bytes, size_t count);
  Frame store(const void* bytes, size_t count);

 private:
  bool find_functions();

  // As zstd.h declares them. Older or stripped libraries lack the first two.
  size_t (*estimate_)(int level) = nullptr;
  void* (*start_)(void* workspace, size_t bytes) = nullptr;
  size_t (*compress_)(void* context, void* to, size_t room, const void* from, size_t count,
                      int level) = nullptr;
  unsigned (*is_error_)(size_t result) = nullptr;

  char* workspace_ = nullptr;  // followed by room for a frame
  size_t workspace_bytes_ = 0, room_ = 0;
  void* context_ = nullptr;  // nullptr: everything is stored
  unsigned char head_[kStoredHeadBytes]{};
  const char* why_ = nullptr;
};

}  // namespace pktmalloc
