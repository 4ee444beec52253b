// SPDX-License-Identifier: MIT
// The end of a trace whose process did not write it: the threads' buffers become blocks, as the
// library would have written them (preload/recording/trace_file.h), and a block of kind kEnd.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "preload/formats/descriptor_name.h"
#include "preload/formats/trace_format.h"
#include "tools/command/failure.h"
#include "tools/command/recovery/recovery.h"

namespace pktmalloc {

using namespace recording;

namespace {

constexpr size_t kFrameHeadBytes = 12;  // of the header's frame (preload/recording/trace_file.h)

// Of the threads' buffers in the recording those whose records are not in the file, the earliest
// first.
std::vector<const trace::OpenBlock*> open_blocks(const RecordingFile& recording) {
  const uint32_t written = recording.header().trace_blocks;
  std::vector<const trace::OpenBlock*> open;
  for (const char* chunk : recording.chunks(ChunkKind::kTrace)) {
    const auto* const block = reinterpret_cast<const trace::OpenBlock*>(chunk);
    const bool is_there = block->block.bytes != 0 && block->block.number < written;
    const uint32_t used = block->used.load(std::memory_order_acquire);
    if (used > 0 && used <= sizeof block->bytes && !is_there) open.push_back(block);
  }
  std::sort(open.begin(), open.end(),
            [](const auto* a, const auto* b) { return a->block.start_ns < b->block.start_ns; });
  return open;
}

class TraceEnd {
 public:
  // `first_ns`: when the first of what it lacks was recorded.
  TraceEnd(const RecordingFile& recording, const std::string& path, uint64_t first_ns)
      : path_(path), framed_(path.ends_with(".zst")), blocks_(recording.header().trace_blocks) {
    file_ = open(path.c_str(), O_RDWR | O_CLOEXEC | link_flag(path));
    if (file_ < 0) fail(strerror(errno));
    const uint64_t whole = recording.header().trace_bytes[blocks_ % 2];
    trace::Header header{};
    struct stat found {};
    const ssize_t got = pread(file_, &header, sizeof header, framed_ ? kFrameHeadBytes : 0);
    const bool is_trace = fstat(file_, &found) == 0 && S_ISREG(found.st_mode) &&
                          got == static_cast<ssize_t>(sizeof header) &&
                          memcmp(header.magic, trace::kMagic, sizeof header.magic) == 0 &&
                          header.pid == recording.header().pid;
    began_later_ = is_trace && header.start_ns > first_ns;
    if (began_later_) return;
    if (!is_trace || static_cast<uint64_t>(found.st_size) < whole) {
      fail("it is no longer the trace of this process");
    }
    // What follows is part of a block.
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0) fail(strerror(errno));
    lseek(file_, 0, SEEK_END);
  }
  ~TraceEnd() { close(file_); }
  TraceEnd(const TraceEnd&) = delete;
  TraceEnd& operator=(const TraceEnd&) = delete;

  // Is it that of a program that the process became? Then nothing is added.
  bool began_later() const { return began_later_; }

  void append(trace::Block block, const void* records) {
    block.number = blocks_++;
    block.checksum = trace::checksum_of(block, records);
    std::string bytes(reinterpret_cast<const char*>(&block), sizeof block);
    bytes.append(static_cast<const char*>(records), block.bytes);
    if (framed_) {
      std::string frame(ZSTD_compressBound(bytes.size()), '\0');
      frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
      bytes = frame;
    }
    if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      fail(strerror(errno));
    }
  }

 private:
  [[noreturn]] void fail(const char* why) {
    if (file_ >= 0) close(std::exchange(file_, -1));
    throw Failure("the end of the trace {} is lost: {}", path_, why);
  }

  std::string path_;
  bool framed_;
  uint32_t blocks_;
  bool began_later_ = false;
  int file_ = -1;
};

}  // namespace

bool recover_trace(const RecordingFile& recording) {
  const std::vector<const trace::OpenBlock*> open = open_blocks(recording);
  const uint64_t first_ns = open.empty() ? ~uint64_t{0} : open.front()->block.start_ns;
  TraceEnd end(recording, recording.report_path(Content::kTrace), first_ns);
  if (end.began_later()) return false;
  trace::Block last{};
  for (const trace::OpenBlock* buffer : open) {
    trace::Block block = buffer->block;
    block.kind = trace::BlockKind::kRecords;
    block.bytes = buffer->used.load();
    end.append(block, buffer->bytes);
    last.start_ns = block.start_ns;
  }
  last.kind = trace::BlockKind::kEnd;
  end.append(last, "");
  return true;
}

}  // namespace pktmalloc
