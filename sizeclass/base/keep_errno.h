// SPDX-License-Identifier: MIT
// KeepErrno: restores errno at the end of the scope.
#pragma once

#include <cerrno>

namespace pktmalloc {

class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(KeepErrno&&) = delete;

 private:
  int saved_ = errno;
};

}  // namespace pktmalloc
