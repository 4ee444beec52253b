// SPDX-License-Identifier: MIT
// TraceFile: the file of a trace, which grows block by block.
//
// Its name belongs to the process that opened it last: an old file is unlinked, not emptied, so two
// processes never write into one. A pipe or a device is written as it is (report_file.h). A program
// may close our descriptor, or put a file of its own there: each block looks first. One thread at a
// time. A file whose name ends in .zst is one of zstd: header and blocks are a frame each, the
// header's is not compressed, so that its `state` has a place there as well.
#pragma once

#include <sys/stat.h>

#include <climits>

#include "preload/base/report_file.h"
#include "preload/contract/trace_format.h"
#include "preload/observers/compressor.h"

namespace pktmalloc {

class TraceFile {
 public:
  // Chooses the name, of options().trace_path; false, after a line, when it is too long.
  bool name();
  // At load, after name(): for what must be there to write the file, a line where it is not.
  void load();
  const char* path() const { return name_.path; }

  bool is_open() const { return descriptor_ >= 0; }
  // With the header. `forked_from`: as in it. False after a line.
  bool open(int forked_from);
  // False after a line; then the file ends with the block before, and says so.
  // Gives the block its number and checksum; its records lie behind it.
  bool append(trace::Block& block);
  // Writes into the header how the trace ended. Nothing may be appended afterwards.
  void close(trace::State state);
  // In the child of a fork: the parent goes on with the file.
  void forget();

 private:
  bool reopen();
  Compressor::Frame plain(const void* bytes, size_t count) { return {nullptr, 0, bytes, count}; }
  bool write(const Compressor::Frame& frame);

  ReportPath name_{};
  bool framed_ = false;  // .zst
  Compressor compressor_{};
  int descriptor_ = -1;
  struct stat identity_ {};  // of the file when it was opened
  // Nothing was there before the trace: not a log that it was added to.
  bool is_alone() const { return identity_.st_size == 0; }
  uint32_t blocks_ = 0;
  off_t length_ = 0;  // of whole blocks, as they are in the file
};

}  // namespace pktmalloc
