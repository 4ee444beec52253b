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

#include <sys/stat.h>

#include "preload/base/newer_libc.h"
#include "preload/base/report_file.h"
#include "preload/formats/trace_format.h"
#include "preload/recording/compressor.h"

namespace pktmalloc {

class TraceFile {
 public:
  // Chooses the name, from a pattern; false, after a line, when it is too long.
  bool name(const char* pattern);
  // At load, after name(): prepares what writing the file needs; a line if something is missing.
  void load();
  const char* path() const { return name_.path; }

  bool is_open() const { return is_open_; }
  // Writes the header, with `forked_from`. False after a line.
  bool open(int forked_from);
  // Gives the block, followed by its records, its number and checksum. False after a line; then the
  // file ends with the previous block, and says so.
  bool append(trace::Block& block);
  // Writes into the header how the trace ended. Nothing may be appended afterwards.
  void close(trace::State state);
  // In the child of a fork: the parent keeps the file.
  void forget();

 private:
  // In the recording: what follows the last whole block is nothing.
  void note_length() const;
  bool reopen();
  bool is_at_hand() const { return has_file(descriptor_, identity_); }
  void close_descriptor();
  Compressor::Frame plain(const void* bytes, size_t count) { return {nullptr, 0, bytes, count}; }
  bool write(const Compressor::Frame& frame);

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
