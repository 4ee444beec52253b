// SPDX-License-Identifier: MIT
// GrowingArray: elements that never move, numbered from 0, in their own address space; it adds
// zeroed memory as it grows. Not synchronised. T needs no constructor and no destructor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/base/mapping.h"

namespace pktmalloc {

template <typename T>
class GrowingArray {
 public:
  // Takes less address space than asked for if the system refuses more; false if it gets none.
  bool start(size_t most_bytes) {
    reserved_bytes_ = most_bytes;
    elements_ = static_cast<T*>(reserve_up_to(reserved_bytes_, kStep));
    return elements_ != nullptr;
  }

  // Another element, whose number is size() before the call; nullptr when there is no memory for
  // it.
  T* add() {
    const size_t end = (size_ + 1) * sizeof(T);
    if (end > committed_bytes_) {
      if (committed_bytes_ == reserved_bytes_ ||
          !memory::commit(reinterpret_cast<char*>(elements_) + committed_bytes_, kStep)) {
        return nullptr;
      }
      committed_bytes_ += kStep;
    }
    return &elements_[size_++];
  }

  uint32_t size() const { return static_cast<uint32_t>(size_); }
  T& operator[](uint32_t i) { return elements_[i]; }
  const T& operator[](uint32_t i) const { return elements_[i]; }

 private:
  static constexpr size_t kStep = size_t{1} << 20;
  static_assert(sizeof(T) <= kStep);

  T* elements_ = nullptr;  // in front, with size_: also read from outside (formats/live_window.h)
  size_t size_ = 0, committed_bytes_ = 0, reserved_bytes_ = 0;
};

}  // namespace pktmalloc
