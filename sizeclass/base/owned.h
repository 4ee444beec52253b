// SPDX-License-Identifier: MIT
// Owned: a word that its owner uses like any other while other threads may read it.
//
// One thread at a time is the owner. The others see an old or a new value, which says nothing about
// any other word. Relaxed atomics mean the same, but g++ then makes an increment three instructions
// and computes each address separately, and malloc and free would pay for it; so machine.h has the
// owner's stores.
#pragma once

#include <cstdint>
#include <type_traits>

#include "sizeclass/base/machine.h"

namespace pktmalloc {

template <typename T>
class Owned {
 public:
  constexpr Owned(T value = T{}) : value_(value) {}
  Owned(const Owned& other) : value_(other.value_) {}

  // For others.
  T seen() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }

  const T* address() const { return &value_; }

  // For the owner.
  operator T() const { return value_; }
  T operator->() const { return value_; }
  constexpr Owned& operator=(T value) {
    if (std::is_constant_evaluated()) {
      value_ = value;
    } else {
      machine::store(value_, value);
    }
    return *this;
  }
  Owned& operator=(const Owned& other) { return *this = other.value_; }
  void operator+=(T more) { *this = value_ + more; }
  void operator--() { *this = value_ - 1; }
  void operator++() {
    static_assert(std::is_same_v<T, uint64_t>);
    machine::increment(value_);
  }

 private:
  T value_;
};

}  // namespace pktmalloc
