// SPDX-License-Identifier: MIT
// TraceFile: the file of a trace, which grows block by block.
//
// The name belongs to the process that opened it last: an old file is unlinked, not emptied, so two
// processes never write into one file. A pipe or a device is written directly (report_file.h). A
// program may close our descriptor or put its own file there, so each block checks first. By order
// it is a regular file, and has no descriptor but while something is written: so threads with
// different tables of descriptors can write. One thread at a time. If the name ends in .zst, header
// and blocks are a zstd frame each; the header's is not compressed, so that its `state` has a fixed
// place.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "preload/base/library_function.h"
#include "preload/base/mapping.h"
#include "preload/base/message.h"
#include "preload/base/newer_libc.h"
#include "preload/base/options.h"
#include "preload/base/report_file.h"
#include "preload/formats/quiet_write.h"
#include "preload/formats/trace_format.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {

// Compressor: turns pieces of a file into zstd frames (RFC 8878), which together are an ordinary
// .zst file.
//
// Each frame stands alone: whatever happens to the process, the file is whole at the end of each
// one, and nothing is carried over a fork. libzstd.so.1 is loaded only when wanted, so nothing else
// needs it, and works in memory mapped for it: compressing allocates nothing. Without it the frames
// hold the bytes as they are. One thread at a time.
class Compressor {
 public:
  // At load, for pieces of at most this many bytes. nullptr, or why it cannot compress: without a
  // usable libzstd, or without memory.
  const char* load(size_t most_bytes) {
    if (workspace_ == nullptr) {  // else it is that of the trace before
      // Deeply bound, as our own dlopen would not bind it: a program may have functions of these
      // names. Without effect if it has loaded the library, too.
      void* const library = dlmopen(LM_ID_BASE, "libzstd.so.1", RTLD_NOW | RTLD_DEEPBIND);
      const bool found = library != nullptr &&
                         find_function(estimate_, library, "ZSTD_estimateCCtxSize") &&
                         find_function(start_, library, "ZSTD_initStaticCCtx") &&
                         find_function(compress_, library, "ZSTD_compressCCtx") &&
                         find_function(is_error_, library, "ZSTD_isError");
      if (!found) return dlerror();
      workspace_bytes_ = (estimate_(kLevel) + 7) / 8 * 8;
      room_ = most_bytes + most_bytes / 128 + 1024;  // more than ZSTD_compressBound
      workspace_ = static_cast<char*>(map_lazily(workspace_bytes_ + room_));
    }
    restart();
    return context_ != nullptr ? nullptr : "no memory";
  }
  // In the child of a fork: another thread's piece may have been under way.
  void restart() {
    if (workspace_ != nullptr) context_ = start_(workspace_, workspace_bytes_);
  }

  // Precedes a piece, of less than 128 KiB, that is stored as it is.
  static constexpr size_t kStoredHeadBytes = 12;
  struct Frame {
    std::string_view head, body;
  };
  // Valid until the next frame is made.
  Frame compress(std::string_view bytes) {
    if (context_ == nullptr) return store(bytes);
    char* const to = workspace_ + workspace_bytes_;
    const size_t result = compress_(context_, to, room_, bytes.data(), bytes.size(), kLevel);
    return is_error_(result) ? store(bytes) : Frame{{}, {to, result}};
  }
  // Magic number; descriptor: one segment with its size in four bytes; that size; one block, the
  // last, raw.
  Frame store(std::string_view bytes) {
    const uint32_t size = static_cast<uint32_t>(bytes.size());
    const uint32_t block = size << 3 | 1;
    memcpy(head_, "\x28\xb5\x2f\xfd\xa0", 5);
    memcpy(head_ + 5, &size, 4);
    memcpy(head_ + 9, &block, 3);
    return {{head_, sizeof head_}, bytes};
  }

 private:
  // The lowest that finds something in records of random sizes. Level 3 saves 6 % more, for a tenth
  // more time and twice the memory.
  static constexpr int kLevel = 1;

  // As zstd.h declares them. Older or stripped libraries lack the first two.
  size_t (*estimate_)(int level) = nullptr;
  void* (*start_)(void* workspace, size_t bytes) = nullptr;
  size_t (*compress_)(void* context, void* to, size_t room, const void* from, size_t count,
                      int level) = nullptr;
  unsigned (*is_error_)(size_t result) = nullptr;

  char* workspace_ = nullptr;  // followed by room for a frame
  size_t workspace_bytes_ = 0, room_ = 0;
  void* context_ = nullptr;  // nullptr: everything is stored
  char head_[kStoredHeadBytes]{};
};

class TraceFile {
 public:
  // Chooses the name, from a pattern; false, after a line, when it is too long.
  bool name(const char* pattern) {
    if (!name_.name(pattern, 1)) {
      message("the name of the trace is too long: %s", pattern);
      return false;
    }
    framed_ = name_.ends_with(".zst");
    return true;
  }
  const char* path() const { return name_.path; }

  // At load, after name(): prepares what writing the file needs; a line if something is missing.
  void load() {
    if (!framed_) return;
    const char* const why = compressor_.load(sizeof(trace::Block) + trace::kMostBlockBytes);
    if (why != nullptr) message("the trace %s is not compressed: %s", path(), why);
  }

  bool is_open() const { return is_open_; }
  // Writes the header, with `forked_from`. False after a line.
  bool open(int forked_from) {
    descriptor_ = move_up(name_.open_growing());
    if (descriptor_ < 0 || status_of(descriptor_, &identity_) != 0) {
      message("cannot write the trace %s: %s", path(), name_.why(errno));
      return false;
    }
    trace::Header header{};
    memcpy(header.magic, trace::kMagic, sizeof header.magic);
    header.version = trace::kVersion;
    header.start_ns = clock_ns();
    header.start_epoch = clock_ns(CLOCK_REALTIME) / 1000000000;
    header.pid = getpid();
    header.forked_from = forked_from;
    strncpy(header.program, program_name(), sizeof header.program - 1);
    header.checksum = trace::checksum_of(header);
    length_ = 0;
    blocks_ = 0;
    if (!write(&header, sizeof header, false)) return false;
    is_open_ = true;
    note_length();
    // Elsewhere nobody can add to it.
    if (is_alone() && !by_order()) {
      record_report(recording::Content::kTrace, options().trace_path, 1);
    }
    if (by_order()) close_descriptor();
    return true;
  }

  // Gives the block, followed by its records, its number and checksum. False after a line; then the
  // file ends with the previous block, and says so.
  bool append(trace::Block& block) {
    block.number = blocks_++;
    block.checksum = trace::checksum_of(block, &block + 1);
    if (!is_at_hand() && !reopen()) {
      message("the trace %s ends early: %s", path(),
              by_order() ? "it cannot be opened again" : "the program closed its descriptor");
      return false;
    }
    const bool written = write(&block, sizeof block + block.bytes, true);
    if (written) note_length();
    if (by_order()) close_descriptor();
    return written;
  }

  // Writes into the header how the trace ended. Nothing may be appended afterwards.
  void close(trace::State state) {
    settle_report(recording::Content::kTrace);
    is_open_ = false;
    if (!is_at_hand() && (!by_order() || !reopen())) return;
    // A pipe cannot be written at an offset, so it does without, and so does a file that is not
    // alone.
    if (is_alone() && fcntl(descriptor_, F_SETFL, 0) == 0) {  // without O_APPEND
      const size_t header_at = framed_ ? Compressor::kStoredHeadBytes : 0;
      const auto state_at = static_cast<off_t>(header_at + offsetof(trace::Header, state));
      if (lseek(descriptor_, state_at, SEEK_SET) >= 0) {
        write_all(descriptor_, &state, sizeof state);
      }
    }
    close_descriptor();
  }

  // In the child of a fork: the parent keeps the file.
  void forget() {
    if (is_at_hand()) ::close(descriptor_);
    descriptor_ = -1;
    is_open_ = false;
    compressor_.restart();
  }

 private:
  static bool by_order() { return options().trace_path == nullptr; }

  // Programs that look for their own descriptors, and shells that number theirs, stay below.
  static int move_up(int descriptor) {
    if (descriptor < 0) return descriptor;
    const int high = copy_high(descriptor, 200);
    if (high >= 0) ::close(descriptor);
    return high >= 0 ? high : descriptor;
  }

  bool is_at_hand() const { return has_file(descriptor_, identity_); }
  bool reopen() {
    descriptor_ = move_up(name_.open_again());
    if (is_at_hand()) return true;
    close_descriptor();
    return false;
  }
  void close_descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  // In the recording: what follows the last whole block is nothing.
  void note_length() const {
    if (recording::Header* const header = recording_here()) {
      header->trace_bytes[blocks_ % 2] = static_cast<uint64_t>(length_);
      header->trace_blocks.store(blocks_, std::memory_order_release);
    }
  }

  // In a frame, if the file has any.
  bool write(const void* start, size_t count, bool compresses) {
    const std::string_view bytes(static_cast<const char*>(start), count);
    const auto [head, body] = !framed_     ? Compressor::Frame{{}, bytes}
                              : compresses ? compressor_.compress(bytes)
                                           : compressor_.store(bytes);
    if (write_all(descriptor_, head.data(), head.size()) &&
        write_all(descriptor_, body.data(), body.size())) {
      length_ += static_cast<off_t>(head.size() + body.size());
      return true;
    }
    message("the trace %s ends early: %s", path(), name_.why(errno));
    // The rest of a block helps nobody; a pipe keeps it.
    [[maybe_unused]] const int ignored = is_alone() ? ftruncate(descriptor_, length_) : 0;
    return false;
  }

  ReportPath name_{};
  bool framed_ = false;  // .zst
  Compressor compressor_{};
  bool is_open_ = false;
  int descriptor_ = 0;       // of no meaning before open(): so it is all zero in the library
  struct stat identity_ {};  // of the file when it was opened
  // A regular file that was empty before the trace: it is not a log that the trace was added to.
  bool is_alone() const { return S_ISREG(identity_.st_mode) && identity_.st_size == 0; }
  uint32_t blocks_ = 0;
  off_t length_ = 0;  // of the whole blocks in the file
};

}  // namespace pktmalloc
