// SPDX-License-Identifier: MIT
// Owned: a word that its owner uses like any other while other threads may read it.
//
// One thread at a time is the owner. The others see an old or a new value, which says nothing about
// any other word. Relaxed atomics mean the same, but g++ then makes an increment three instructions
// and computes each address separately, and malloc and free would pay for it; so the owner's stores
// are written out.
#pragma once

#include <cstdint>
#include <type_traits>

namespace pktmalloc {

template <typename T>
class Owned {
 public:
  constexpr Owned(T value = T{}) : value_(value) {}
  Owned(const Owned& other) : value_(other.value_) {}

  // For others.
  T seen() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }

  // For the owner.
  operator T() const { return value_; }
  T operator->() const { return value_; }
  constexpr Owned& operator=(T value) {
    if (std::is_constant_evaluated()) {
      value_ = value;
    } else {
      asm("mov %1, %0" : "=m"(value_) : "r"(value));
    }
    return *this;
  }
  Owned& operator=(const Owned& other) { return *this = other.value_; }
  void operator+=(T more) { *this = value_ + more; }
  void operator++() {
    static_assert(std::is_same_v<T, uint64_t>);
    asm("addq $1, %0" : "+m"(value_));
  }

 private:
  T value_;
};

}  // namespace pktmalloc
