// SPDX-License-Identifier: MIT
// OutputFile: a file that is there as a whole or not at all.
//
// Opened before the work, so that what cannot be written is known before it: the constructor throws
// Failure, also if another one has that path. The text goes to a new file beside it, which takes
// the name at the end; a device, pipe or descriptor is written as it stands. "-" is stdout, unless
// that is a terminal. Without write() nothing has changed.
#pragma once

#include <string>

namespace pktmalloc {

// The user's own are followed; those that stand where a program writes may be anybody's.
enum class Links { kFollowed, kRefused };

class OutputFile {
 public:
  explicit OutputFile(const std::string& path, Links links = Links::kFollowed);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool is_stdout() const { return path_ == "-"; }
  // Once. Throws Failure, and the old file stays.
  void write(const std::string& text);

 private:
  void open_file(Links links);
  void close_file();

  std::string path_;
  std::string temporary_;  // "" when there is none
  int descriptor_ = -1;
};

}  // namespace pktmalloc
