// SPDX-License-Identifier: MIT
// Crew: threads that start together and are joined at the end. What goes wrong in one is counted,
// because Catch2's assertions are for one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace pktmalloc::test {

class Crew {
 public:
  // body(number) on each of `count` threads.
  template <typename Body>
  Crew(unsigned count, Body body) {
    for (unsigned n = 0; n < count; ++n) {
      threads_.emplace_back([this, body, n]() mutable {
        while (!go_.load(std::memory_order_acquire)) std::this_thread::yield();
        body(n);
      });
    }
    go_.store(true, std::memory_order_release);
  }
  ~Crew() { join(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void join() {
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  std::atomic<bool> go_ = false;
  std::vector<std::thread> threads_;
};

// What threads draw by: cheap, one each.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint32_t below(uint32_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 16) % limit);
  }

 private:
  uint64_t state_;
};

// A stress test divides its rounds by this.
#if defined(__SANITIZE_THREAD__)
inline constexpr unsigned kSlower = 10;
#else
inline constexpr unsigned kSlower = 1;
#endif

}  // namespace pktmalloc::test
