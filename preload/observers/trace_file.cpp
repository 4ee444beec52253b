// SPDX-License-Identifier: MIT
#include "preload/observers/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "preload/base/message.h"
#include "preload/base/options.h"
#include "preload/contract/quiet_write.h"
#include "sizeclass/clock.h"

namespace pktmalloc {
namespace {

// Programs that look for their own descriptors, and shells that number theirs, stay below.
constexpr int kLowestDescriptor = 200;

int move_up(int descriptor) {
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high < 0) return descriptor;
  ::close(descriptor);
  return high;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

bool TraceFile::name() {
  if (!name_.name(options().trace_path, 1)) {
    message("the name of the trace is too long: %s", options().trace_path);
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
  struct stat found;
  if (lstat(path(), &found) == 0 && S_ISREG(found.st_mode)) unlink(path());
  const int low = ::open(path(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  descriptor_ = low < 0 ? low : move_up(low);
  if (descriptor_ < 0 || fstat(descriptor_, &identity_) != 0) {
    message("cannot write the trace %s: %s", path(), strerrordesc_np(errno));
    return false;
  }
  trace::Header header{};
  memcpy(header.magic, trace::kMagic, sizeof header.magic);
  header.version = trace::kVersion;
  header.start_ns = clock_ns();
  header.start_epoch = static_cast<uint64_t>(time(nullptr));
  header.pid = getpid();
  header.forked_from = forked_from;
  strncpy(header.program, program_name(), sizeof header.program - 1);
  header.checksum = trace::checksum_of(header);
  length_ = 0;
  blocks_ = 0;
  return write(framed_ ? compressor_.store(&header, sizeof header) : plain(&header, sizeof header));
}

bool TraceFile::append(trace::Block& block) {
  block.number = blocks_++;
  block.checksum = trace::checksum_of(block, &block + 1);
  struct stat now;
  const bool ours = fstat(descriptor_, &now) == 0 && same_file(now, identity_);
  if (!ours && !reopen()) {
    message("the trace %s ends early: the program closed its descriptor", path());
    return false;
  }
  const size_t bytes = sizeof block + block.bytes;
  return write(framed_ ? compressor_.compress(&block, bytes) : plain(&block, bytes));
}

bool TraceFile::reopen() {
  descriptor_ = ::open(path(), O_WRONLY | O_APPEND | O_CLOEXEC);
  struct stat now;
  if (descriptor_ < 0) return false;
  descriptor_ = move_up(descriptor_);
  if (fstat(descriptor_, &now) == 0 && same_file(now, identity_)) return true;
  ::close(descriptor_);
  descriptor_ = -1;
  return false;
}

bool TraceFile::write(const Compressor::Frame& frame) {
  if (write_all(frame.head, frame.head_bytes) && write_all(frame.body, frame.body_bytes)) {
    length_ += static_cast<off_t>(frame.head_bytes + frame.body_bytes);
    return true;
  }
  message("the trace %s ends early: %s", path(), strerrordesc_np(errno));
  // The rest of a block helps nobody; a pipe keeps it.
  const int ignored = ftruncate(descriptor_, length_);
  static_cast<void>(ignored);
  return false;
}

bool TraceFile::write_all(const void* bytes, size_t count) {
  const char* at = static_cast<const char*>(bytes);
  for (size_t left = count; left > 0;) {
    const ssize_t written = quiet_write(descriptor_, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    left -= static_cast<size_t>(written);
  }
  return true;
}

void TraceFile::close(trace::State state) {
  struct stat now;
  if (descriptor_ < 0 || fstat(descriptor_, &now) != 0 || !same_file(now, identity_)) return;
  // A pipe cannot be written at an offset and does without.
  if (S_ISREG(now.st_mode) && fcntl(descriptor_, F_SETFL, 0) == 0) {  // without O_APPEND
    const size_t header_at = framed_ ? Compressor::kStoredHeadBytes : 0;
    const ssize_t ignored = pwrite(descriptor_, &state, sizeof state,
                                   static_cast<off_t>(header_at + offsetof(trace::Header, state)));
    static_cast<void>(ignored);
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

void TraceFile::forget() {
  struct stat now;
  if (descriptor_ >= 0 && fstat(descriptor_, &now) == 0 && same_file(now, identity_)) {
    ::close(descriptor_);
  }
  descriptor_ = -1;
  compressor_.restart();
}

}  // namespace pktmalloc
