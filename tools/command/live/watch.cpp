// SPDX-License-Identifier: MIT
#include "tools/command/live/watch.h"

namespace pktmalloc {

Watch::Watch(pid_t pid) : process_(std::make_unique<LiveProcess>(pid)), now_(take()) { remember(); }

double rate(uint64_t now, uint64_t before, const Watch& watch) {
  const auto between = watch.now().at - watch.before()->at;
  if (now <= before) return 0;
  return static_cast<double>(now - before) / std::chrono::duration<double>(between).count();
}

Sample Watch::take() const {
  Sample sample;
  sample.reading = process_->read();
  sample.rss_bytes = process_->rss_bytes();
  sample.library = process_->library();
  sample.at = std::chrono::steady_clock::now();
  return sample;
}

void Watch::remember() {
  const Snapshot& now = now_.reading.snapshot;
  Moment moment{now_.at, static_cast<double>(now.process.committed_bytes), 0, {}};
  for (unsigned i = 0; i < now.heap.classes; ++i) {
    moment.class_committed_bytes[i] = static_cast<double>(now.heap.of[i].committed_bytes);
  }
  if (before_) {
    moment.allocs_rate = rate(now.process.allocs, before_->reading.snapshot.process.allocs, *this);
  }
  if (history_.size() == kHistory) history_.erase(history_.begin());
  history_.push_back(moment);
}

void Watch::update() {
  const pid_t pid = process_->pid();
  try {
    Sample next = take();
    before_ = std::move(now_);
    now_ = std::move(next);
    remember();
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
    history_.clear();
    remember();
    message_.clear();
  } catch (const Failure& failure) {
    message_ = failure.what();
  }
}

}  // namespace pktmalloc
