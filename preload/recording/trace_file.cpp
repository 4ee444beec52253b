// SPDX-License-Identifier: MIT
#include "preload/recording/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/formats/quiet_write.h"
#include "preload/recording/recording.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {
namespace {

// Programs that look for their own descriptors, and shells that number theirs, stay below.
int move_up(int descriptor) {
  if (descriptor < 0) return descriptor;
  const int high = copy_high(descriptor, 200);
  if (high >= 0) ::close(descriptor);
  return high >= 0 ? high : descriptor;
}

bool by_order() { return options().trace_path == nullptr; }

}  // namespace

bool TraceFile::name(const char* pattern) {
  if (!name_.name(pattern, 1)) {
    message("the name of the trace is too long: %s", pattern);
    return false;
  }
  framed_ = name_.ends_with(".zst");
  return true;
}

void TraceFile::load() {
  if (framed_ && !compressor_.load(sizeof(trace::Block) + trace::kMostBlockBytes)) {
    message("the trace %s is not compressed: %s", path(), compressor_.why());
  }
}

bool TraceFile::open(int forked_from) {
  descriptor_ = move_up(name_.open_growing());
  if (descriptor_ < 0 || status_of(descriptor_, &identity_) != 0) {
    message("cannot write the trace %s: %s", path(), name_.why(errno));
    return false;
  }
  trace::Header header{};
  memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.start_ns = clock_ns();
  header.start_epoch = epoch_seconds();
  header.pid = getpid();
  header.forked_from = forked_from;
  strncpy(header.program, program_name(), sizeof header.program - 1);
  header.checksum = trace::checksum_of(header);
  length_ = 0;
  blocks_ = 0;
  if (!write(framed_ ? compressor_.store(&header, sizeof header) : plain(&header, sizeof header))) {
    return false;
  }
  is_open_ = true;
  note_length();
  // Elsewhere nobody can add to it.
  if (is_alone() && !by_order()) record_report(recording::Content::kTrace, options().trace_path, 1);
  if (by_order()) close_descriptor();
  return true;
}

void TraceFile::close_descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void TraceFile::note_length() const {
  if (recording::Header* const header = recording_here()) {
    header->trace_bytes[blocks_ % 2] = static_cast<uint64_t>(length_);
    header->trace_blocks.store(blocks_, std::memory_order_release);
  }
}

bool TraceFile::append(trace::Block& block) {
  block.number = blocks_++;
  block.checksum = trace::checksum_of(block, &block + 1);
  if (!is_at_hand() && !reopen()) {
    message("the trace %s ends early: %s", path(),
            by_order() ? "it cannot be opened again" : "the program closed its descriptor");
    return false;
  }
  const size_t bytes = sizeof block + block.bytes;
  const bool written = write(framed_ ? compressor_.compress(&block, bytes) : plain(&block, bytes));
  if (written) note_length();
  if (by_order()) close_descriptor();
  return written;
}

bool TraceFile::reopen() {
  descriptor_ = move_up(name_.open_again());
  if (is_at_hand()) return true;
  close_descriptor();
  return false;
}

bool TraceFile::write(const Compressor::Frame& frame) {
  if (write_all(descriptor_, frame.head, frame.head_bytes) &&
      write_all(descriptor_, frame.body, frame.body_bytes)) {
    length_ += static_cast<off_t>(frame.head_bytes + frame.body_bytes);
    return true;
  }
  message("the trace %s ends early: %s", path(), name_.why(errno));
  // The rest of a block helps nobody; a pipe keeps it.
  [[maybe_unused]] const int ignored = is_alone() ? ftruncate(descriptor_, length_) : 0;
  return false;
}

void TraceFile::close(trace::State state) {
  settle_report(recording::Content::kTrace);
  is_open_ = false;
  if (!is_at_hand() && (!by_order() || !reopen())) return;
  // A pipe cannot be written at an offset, so it does without, and so does a file that is not
  // alone.
  if (is_alone() && fcntl(descriptor_, F_SETFL, 0) == 0) {  // without O_APPEND
    const size_t header_at = framed_ ? Compressor::kStoredHeadBytes : 0;
    const auto state_at = static_cast<off_t>(header_at + offsetof(trace::Header, state));
    if (lseek(descriptor_, state_at, SEEK_SET) >= 0) write_all(descriptor_, &state, sizeof state);
  }
  close_descriptor();
}

void TraceFile::forget() {
  if (is_at_hand()) ::close(descriptor_);
  descriptor_ = -1;
  is_open_ = false;
  compressor_.restart();
}

}  // namespace pktmalloc
