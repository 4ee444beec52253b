// SPDX-License-Identifier: MIT
// Lines from a pipe that another process fills with one system call a line, as lackey does. Woken
// for each, this process would slow the other one down; so it lets the pipe fill between readings.
#pragma once

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace simulated {

class PipeLines {
 public:
  explicit PipeLines(int descriptor) : descriptor_(descriptor) {
    fcntl(descriptor_, F_SETPIPE_SZ, kPipeBytes);  // refused by what is no pipe, which is well
  }

  // The next line with its end; an empty one when there is none any more. It holds
  // until the next call.
  std::string_view next() {
    std::size_t end = text_.find('\n', begin_);
    while (end == std::string::npos) {
      if (!refill()) return {};
      end = text_.find('\n');
    }
    const std::string_view line(text_.data() + begin_, end + 1 - begin_);
    begin_ = end + 1;
    return line;
  }

 private:
  // What an unprivileged process may have, /proc/sys/fs/pipe-max-size: some 40 ms of a trace.
  static constexpr int kPipeBytes = 1 << 20;
  static constexpr long kFillNanoseconds = 10'000'000;

  bool refill() {
    text_.erase(0, begin_);
    begin_ = 0;
    const std::size_t kept = text_.size();
    text_.resize(kept + kPipeBytes);
    const ssize_t got = read(descriptor_, text_.data() + kept, kPipeBytes);
    text_.resize(kept + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got > 0 && got < kPipeBytes / 4) {
      const timespec pause{0, kFillNanoseconds};
      nanosleep(&pause, nullptr);
    }
    return got > 0;
  }

  int descriptor_;
  std::string text_;
  std::size_t begin_ = 0;
};

}  // namespace simulated
