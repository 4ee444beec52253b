// SPDX-License-Identifier: MIT
// Compressor: turns pieces of a file into zstd frames (RFC 8878), which together are an ordinary
// .zst file.
//
// Each frame stands alone: whatever happens to the process, the file is whole at the end of each
// one, and nothing is carried over a fork. libzstd.so.1 is loaded only when wanted, so nothing else
// needs it, and works in memory mapped for it: compressing allocates nothing. Without it the frames
// hold the bytes as they are. One thread at a time.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/base/library_function.h"
#include "preload/base/mapping.h"

namespace pktmalloc {

class Compressor {
 public:
  // At load, for pieces of at most this many bytes. False without a usable libzstd, or without
  // memory; why() says which.
  bool load(size_t most_bytes) {
    if (workspace_ == nullptr) {  // else it is that of the trace before
      if (!find_functions()) return false;
      workspace_bytes_ = (estimate_(kLevel) + 7) / 8 * 8;
      room_ = most_bytes + most_bytes / 128 + 1024;  // more than ZSTD_compressBound
      workspace_ = static_cast<char*>(map_lazily(workspace_bytes_ + room_));
      why_ = "no memory";
    }
    restart();
    return context_ != nullptr;
  }
  const char* why() const { return why_; }
  // In the child of a fork: another thread's piece may have been under way.
  void restart() {
    if (workspace_ != nullptr) context_ = start_(workspace_, workspace_bytes_);
  }

  // Precedes a piece, of less than 128 KiB, that is stored as it is.
  static constexpr size_t kStoredHeadBytes = 12;
  struct Frame {
    const void* head;
    size_t head_bytes;
    const void* body;
    size_t body_bytes;
  };
  // Valid until the next frame is made.
  Frame compress(const void* bytes, size_t count) {
    if (context_ == nullptr) return store(bytes, count);
    char* const to = workspace_ + workspace_bytes_;
    const size_t result = compress_(context_, to, room_, bytes, count, kLevel);
    return is_error_(result) ? store(bytes, count) : Frame{nullptr, 0, to, result};
  }
  // Magic number; descriptor: one segment with its size in four bytes; that size; one block, the
  // last, raw.
  Frame store(const void* bytes, size_t count) {
    const uint32_t size = static_cast<uint32_t>(count);
    const uint32_t block = size << 3 | 1;
    memcpy(head_, "\x28\xb5\x2f\xfd\xa0", 5);
    memcpy(head_ + 5, &size, 4);
    memcpy(head_ + 9, &block, 3);
    return {head_, sizeof head_, bytes, count};
  }

 private:
  // The lowest that finds something in records of random sizes. Level 3 saves 6 % more, for a tenth
  // more time and twice the memory.
  static constexpr int kLevel = 1;

  bool find_functions() {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && find_function(estimate_, library, "ZSTD_estimateCCtxSize") &&
        find_function(start_, library, "ZSTD_initStaticCCtx") &&
        find_function(compress_, library, "ZSTD_compressCCtx") &&
        find_function(is_error_, library, "ZSTD_isError")) {
      return true;
    }
    why_ = dlerror();
    return false;
  }

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
