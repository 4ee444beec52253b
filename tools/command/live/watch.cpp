// SPDX-License-Identifier: MIT
#include "tools/command/live/watch.h"

namespace pktmalloc {

Watch::Watch(pid_t pid) : process_(std::make_unique<LiveProcess>(pid)), now_(take()) {}

Sample Watch::take() const {
  Sample sample;
  sample.reading = process_->read();
  sample.rss_bytes = process_->rss_bytes();
  sample.library = process_->library();
  sample.at = std::chrono::steady_clock::now();
  return sample;
}

void Watch::update() {
  const pid_t pid = process_->pid();
  try {
    Sample next = take();
    before_ = std::move(now_);
    now_ = std::move(next);
    message_.clear();
    return;
  } catch (const Failure& failure) {
    message_ = failure.what();
  }
  if (ended()) {
    message_ = fmt::format("process {} has ended; these are its last values", pid);
    return;
  }
  try {
    process_ = std::make_unique<LiveProcess>(pid);
    now_ = take();
    before_.reset();
    message_.clear();
  } catch (const Failure& failure) {
    message_ = failure.what();
  }
}

}  // namespace pktmalloc
