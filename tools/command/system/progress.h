// SPDX-License-Identifier: MIT
// Progress: a line on a terminal that is written over and over, with the time that is left; nothing
// elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace pktmalloc {

class Progress {
 public:
  // Of so many runs, after those that do not count.
  explicit Progress(size_t runs);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What precedes all runs.
  void note(const std::string& what);
  // The run that begins now, from 1; 0 of those that do not count.
  void tell(size_t run, const std::string& what);

 private:
  const size_t runs_;
  const bool is_shown_;
  std::chrono::steady_clock::time_point first_;  // when the first that counts began
};

}  // namespace pktmalloc
