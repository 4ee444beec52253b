// SPDX-License-Identifier: MIT
#include "preload/hardened/nothing.h"

#include <atomic>

#include "preload/base/mapping.h"
#include "sizeclass/memory.h"

namespace pktmalloc::hardened {
namespace {

constexpr unsigned kTries = 64;  // live ones may lie in the way

constinit std::atomic<bool>* in_use = nullptr;
constinit std::atomic<size_t> next = 0;

std::atomic<bool>& state_of(const void* p) {
  return in_use[(reinterpret_cast<uintptr_t>(p) - nothing_begin) / kNothingBytes];
}

}  // namespace

void start_nothing() {
  in_use = static_cast<std::atomic<bool>*>(map_lazily(kNothings));
  if (in_use == nullptr) return;
  void* const region = memory::reserve(kNothings * kNothingBytes, memory::page_bytes());
  nothing_begin = reinterpret_cast<uintptr_t>(region);
}

void* take_nothing() {
  if (nothing_begin == 0) return nullptr;
  for (unsigned tries = 0; tries < kTries; ++tries) {
    const size_t n = next.fetch_add(1, std::memory_order_relaxed) % kNothings;
    if (!in_use[n].exchange(true, std::memory_order_relaxed)) {
      return reinterpret_cast<void*>(nothing_begin + n * kNothingBytes);
    }
  }
  return nullptr;
}

bool is_live_nothing(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % kNothingBytes == 0 &&
         state_of(p).load(std::memory_order_relaxed);
}

bool give_nothing(void* p) {
  return reinterpret_cast<uintptr_t>(p) % kNothingBytes == 0 &&
         state_of(p).exchange(false, std::memory_order_relaxed);
}

}  // namespace pktmalloc::hardened
