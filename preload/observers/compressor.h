// SPDX-License-Identifier: MIT
// Compressor: pieces of a file as frames of zstd (RFC 8878), which one behind the other are an
// ordinary .zst file.
//
// Each frame stands for itself: what is written ends whole at each of them, whatever happens to the
// process, and nothing is carried over a fork. libzstd.so.1 is loaded when it is wanted, so that
// nothing else needs it, and works in memory that was mapped for it: nothing is allocated while
// something is compressed. Without it the frames hold the bytes as they are. One thread at a time.
#pragma once

#include <cstddef>

namespace pktmalloc {

class Compressor {
 public:
  // At load, for pieces of at most so many bytes. False when there is no usable libzstd, or no
  // memory; why() tells.
  bool load(size_t most_bytes);
  const char* why() const { return why_; }
  // In the child of a fork, where another thread's piece may have been under way.
  void restart();

  // In front of a piece that is stored as it is; of less than 128 KiB.
  static constexpr size_t kStoredHeadBytes = 12;
  struct Frame {
    const void* head;
    size_t head_bytes;
    const void* body;
    size_t body_bytes;
  };
  // Until the next one is made.
  Frame compress(const void* bytes, size_t count);
  Frame store(const void* bytes, size_t count);

 private:
  bool find_functions();

  // As zstd.h declares them. Not in older or stripped libraries: the first two.
  size_t (*estimate_)(int level) = nullptr;
  void* (*start_)(void* workspace, size_t bytes) = nullptr;
  size_t (*compress_)(void* context, void* to, size_t room, const void* from, size_t count,
                      int level) = nullptr;
  unsigned (*is_error_)(size_t result) = nullptr;

  char* workspace_ = nullptr;  // then room for a frame
  size_t workspace_bytes_ = 0, room_ = 0;
  void* context_ = nullptr;  // nullptr: everything is stored
  unsigned char head_[kStoredHeadBytes]{};
  const char* why_ = "";
};

}  // namespace pktmalloc
