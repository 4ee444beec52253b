// SPDX-License-Identifier: MIT
// Patience: how long a test waits before it says that something hangs. What works takes a small
// part of it on the slowest and busiest machine, so this is no bound on how fast anything is.
#pragma once

#include <chrono>

inline constexpr std::chrono::minutes kPatience{10};

inline std::chrono::steady_clock::time_point end_of_patience() {
  return std::chrono::steady_clock::now() + kPatience;
}
