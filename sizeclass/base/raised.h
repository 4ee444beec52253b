// SPDX-License-Identifier: MIT
// Raised: a flag that is true until the end of the scope, or as long as an outer scope has it so.
// Signal handlers of the same thread see it before what the scope changes, and after.
#pragma once

#include <atomic>

namespace pktmalloc {

class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag), before_(flag) {
    flag_ = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Raised() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    flag_ = before_;
  }
  Raised(const Raised&) = delete;

 private:
  bool& flag_;
  const bool before_;
};

}  // namespace pktmalloc
